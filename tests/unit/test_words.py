"""The table "The same words elsewhere": its words are arguments here and in torch, its two calls use them."""

import ast
import inspect
import re
from pathlib import Path

import torch
from torch import nn

import attnlab
from attnlab import transformer

TEXT = (Path(__file__).resolve().parents[2] / "chapters/_words.md").read_text(encoding="utf-8")
CELLS = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.startswith("| `")]


def words(column):
    return {word for cells in CELLS for word in re.findall(r"`(\w+)`", cells[column])}


def arguments(*callables):
    return {name for call in callables for name in inspect.signature(call).parameters}


def test_the_words_of_here_are_arguments_of_this_package():
    public = [getattr(room, name) for room in (attnlab, transformer) for name in room.__all__]
    callables = [one for one in public if callable(one)]
    layers = [one.forward for one in callables if inspect.isclass(one) and issubclass(one, nn.Module)]
    assert words(0) <= arguments(*callables, *layers)
    assert all(words(column) for column in range(3))


def test_the_words_of_torch_are_its_arguments():
    layers = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder, nn.Embedding)
    sdpa = {one.name for one in torch.ops.aten.scaled_dot_product_attention.default._schema.arguments}
    of_layers = arguments(*layers, *(layer.forward for layer in layers))
    read_off = {"head_dim"} & vars(nn.MultiheadAttention(4, 2)).keys()
    assert words(1) <= sdpa | of_layers | read_off


def test_the_two_calls_say_the_same_in_words_of_the_table():
    here, there = ast.parse(re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1]).body
    of_here, of_there = ({word.arg for word in call.value.keywords} for call in (here, there))
    assert of_here <= words(0)
    assert of_there <= words(2) | {"do_sample"}
    torch.manual_seed(0)
    names = {
        "transformer": transformer,
        "model": transformer.LanguageModel(7, 8, 2, 1),
        "ids": torch.tensor([[0, 3], [4, 5]]),
        "real": torch.tensor([[False, True], [True, True]]),
    }
    assert eval(ast.unparse(here), names).shape == (2, 11)
