"""SmolLM2-135M-Instruct, a small model that writes, in the modules of `attnlab.transformer`."""

from __future__ import annotations

import os
import re
from typing import Any

import torch
from torch import Tensor

from attnlab.positions import RotaryPositions
from attnlab.pretrained.files import fetch, needed
from attnlab.transformer import LanguageModel, generate

SIZES = {"vocab_size": 49152, "d_model": 576, "n_heads": 9, "n_layers": 30, "n_kv_heads": 3, "d_ff": 1536}
PARTS = {
    "attn_q": "attention.q_proj",
    "attn_k": "attention.k_proj",
    "attn_v": "attention.v_proj",
    "attn_output": "attention.out_proj",
    "attn_norm": "attention_norm",
    "ffn_up": "ffn.in_proj",
    "ffn_gate": "ffn.gate_proj",
    "ffn_down": "ffn.out_proj",
    "ffn_norm": "ffn_norm",
}
"""What the file calls the parts of a layer, and what we call them."""


class SmolLM2(LanguageModel):
    """A small Llama: 30 pre-norm layers, RMSNorm, SwiGLU, rotary positions, nine heads that share three.

    Made by `load_smollm2`, which fills it with published weights.

    Args:
        tokenizer: turns text into numbers; None for a model that is given numbers.
        sizes: of the `LanguageModel`, for a smaller model.

    References:
        Ben Allal et al. 2025 (SmolLM2); Touvron et al. 2023 (Llama); Ainslie et al. 2023 (shared heads).

    >>> model = SmolLM2(vocab_size=50, d_model=12, n_heads=3, n_kv_heads=1, n_layers=1, d_ff=8)
    >>> model(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 50])
    """

    def __init__(self, tokenizer: Any = None, **sizes: int) -> None:
        # The file keeps the two numbers that turn together side by side, as the paper does. (The files of
        # the transformers library keep them half a head apart: other rows of W_q and W_k, the same model.)
        rotary = RotaryPositions(base=100_000.0, layout="interleaved")
        llama = {"positions": rotary, "norm": "rms", "activation": "swiglu", "bias": False}
        super().__init__(**SIZES | sizes, **llama)
        self.tokenizer = tokenizer

    def tokens(self, text: str) -> Tensor:
        """Cut a text into numbered pieces (1, n)."""
        if self.tokenizer is None:
            raise ValueError("this model has no tokenizer: load_smollm2() has one")
        return torch.tensor([self.tokenizer.encode(text).ids], device=self.embedding.weight.device)

    def pieces(self, text: str) -> list[str]:
        """Return the pieces of a text, as words."""
        return [self.tokenizer.decode([at]) for at in self.tokens(text)[0].tolist()]

    def complete(self, text: str, max_new_tokens: int = 40, **options: Any) -> str:
        """Write on, until it says that it is done or `max_new_tokens` pieces are written.

        Args:
            text: what it begins with.
            max_new_tokens: how many pieces it may write.
            options: of `transformer.generate`.

        Returns:
            What follows the text.
        """
        ids = self.tokens(text)
        new = generate(self, ids, max_new_tokens, **options)[0, ids.shape[1] :].tolist()
        return self.tokenizer.decode(new[: new.index(END)] if END in new else new)

    def answer(self, question: str, max_new_tokens: int = 40, **options: Any) -> str:
        """Answer a question in the form of a conversation, which the model was tuned for."""
        return self.complete(chat(question), max_new_tokens, **options)


END = 2
"""The piece that ends a turn, `<|im_end|>`."""


def chat(question: str) -> str:
    """Write a question as a turn of a conversation, and begin the answer.

    >>> chat("Why?")
    '<|im_start|>user\\nWhy?<|im_end|>\\n<|im_start|>assistant\\n'
    """
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


def load_smollm2(folder: str | os.PathLike | None = None) -> SmolLM2:
    """Load SmolLM2-135M-Instruct (134.5 million numbers of about 5 bits, 98 MB), downloaded the first time.

    The file holds blocks of 32 numbers, each rounded to one of 16 levels (the word vectors to 255). They are
    spread out to 32-bit numbers, 538 MB in memory.

    Args:
        folder: where its file is, see `fetch`.

    Returns:
        The model, in `eval` mode, and its tokenizer with it.

    Raises:
        WeightsError: the weights can't be had.
        ModuleNotFoundError: a package that reads them is missing.
    """
    with needed():
        from gguf import GGUFReader, dequantize

    (path,) = fetch("smollm2", folder)
    reader = GGUFReader(path)
    theirs = {part.name: _tensor(dequantize(part.data, part.tensor_type)) for part in reader.tensors}
    vocabulary = {key: reader.fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "merges")}
    kinds = reader.fields["tokenizer.ggml.token_type"].contents()
    with torch.device("meta"):  # no numbers are drawn only to be overwritten
        model = SmolLM2(tokenizer=_tokenizer(vocabulary["tokens"], vocabulary["merges"], kinds))
    model.load_state_dict(rename(theirs), assign=True)
    model.out_proj.weight = model.embedding.weight
    return model.requires_grad_(False).eval()


def rename(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give the tensors of a Llama in a GGUF file our names.

    Args:
        theirs: tensors by the names of the file.

    Returns:
        The same by the names of `SmolLM2`; the table that reads is also the one that guesses.

    Raises:
        ValueError: a layer has a part that ours does not.

    >>> list(rename({"blk.3.ffn_down.weight": torch.zeros(1)}))
    ['stack.layers.3.ffn.out_proj.weight']
    """
    ours = {}
    for name, value in theirs.items():
        if name.startswith("blk."):
            match = re.fullmatch(r"blk\.(\d+)\.(\w+)\.(\w+)", name)
            if not match or match[2] not in PARTS:
                raise ValueError(f"theirs must be the tensors of a Llama, which has no {name}")
            ours[f"stack.layers.{match[1]}.{PARTS[match[2]]}.{match[3]}"] = value
    if "output_norm.weight" in theirs:
        ours["stack.final_norm.weight"] = theirs["output_norm.weight"]
    if "token_embd.weight" in theirs:
        ours["embedding.weight"] = ours["out_proj.weight"] = theirs["token_embd.weight"]
    return ours


def _tokenizer(tokens: list[str], merges: list[str], kinds: list[int]) -> Any:
    """Build the tokenizer from what the file says of it: bytes, joined pair by pair."""
    with needed():
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    pairs = [tuple(pair.split(" ")) for pair in merges]
    tokenizer = Tokenizer(models.BPE({piece: at for at, piece in enumerate(tokens)}, pairs))
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [piece for piece, kind in zip(tokens, kinds, strict=True) if kind == 3]  # as <|im_start|>
    tokenizer.add_special_tokens([AddedToken(piece, normalized=False) for piece in control])
    return tokenizer


def _tensor(numbers: Any) -> Tensor:
    # What was not rounded is a view of the file, which torch should not write into.
    return torch.from_numpy(numbers if numbers.flags.writeable else numbers.copy())
