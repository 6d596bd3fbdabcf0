"""all-MiniLM-L6-v2, an encoder that turns sentences into vectors, in the modules of `attnlab.transformer`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.arguments import looked_up
from attnlab.pretrained.files import fetch, needed
from attnlab.transformer import Encoder

SIZES = {"d_model": 384, "n_heads": 12, "n_layers": 6, "d_ff": 1536}
PARTS = {
    "attention.self.query": "attention.q_proj",
    "attention.self.key": "attention.k_proj",
    "attention.self.value": "attention.v_proj",
    "attention.output.dense": "attention.out_proj",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "ffn.in_proj",
    "output.dense": "ffn.out_proj",
    "output.LayerNorm": "ffn_norm",
}
"""What the published file calls the parts of a layer, and what we call them."""


class MiniLM(nn.Module):
    """A small BERT: word vectors, position vectors, then six post-norm layers of twelve heads.

    Made by `load_minilm`, which fills it with published weights.

    Args:
        vocab_size: pieces of words in the vocabulary.
        tokenizer: turns text into numbers; None for a model that is given numbers.
        sizes: of the `Encoder`, for a smaller model.

    References:
        Devlin et al. 2019, section 3; Wang et al. 2020 (MiniLM); Reimers and Gurevych 2019 (vectors of
        sentences).

    >>> model = MiniLM(100, d_model=8, n_heads=2, n_layers=1, d_ff=16)
    >>> model(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, vocab_size: int = 30522, tokenizer: Any = None, **sizes: int) -> None:
        super().__init__()
        sizes = SIZES | sizes
        self.tokenizer = tokenizer
        self.embedding = nn.Embedding(vocab_size, sizes["d_model"])
        # BERT marks which of two texts a word is of. There is one text here: the same vector for all.
        self.segment = nn.Parameter(torch.zeros(sizes["d_model"]))
        bert = {"positions": "learned", "max_positions": 512, "input_norm": True, "norm_first": False}
        self.stack = Encoder(**sizes, **bert, activation="gelu", eps=1e-12)

    def forward(
        self,
        ids: Tensor,
        *,
        key_mask: Tensor | None = None,
        need_weights: bool = False,
        head_weights: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, list[Tensor]]:
        """Read texts.

        Args:
            ids: numbers of pieces (batch, n).
            key_mask: boolean (batch, n), False where a text is padded.
            need_weights: return the weights of every layer as well.
            head_weights: (n_layers, n_heads) factor on what each head gives.

        Returns:
            Tokens (batch, n, d_model), with `need_weights` also a list of (batch, n_heads, n, n).
        """
        words = looked_up("ids", ids, self.embedding.weight, "pieces")
        return self.read(words, key_mask, need_weights=need_weights, head_weights=head_weights)

    def read(self, words: Tensor, key_mask: Tensor | None = None, **options: Any) -> Any:
        """Read word vectors (batch, n, d_model), as from `embedding`: what a gradient can be asked of."""
        return self.stack(words + self.segment, key_mask=key_mask, **options)

    def tokens(self, texts: str | Sequence[str]) -> tuple[Tensor, Tensor]:
        """Cut texts into numbered pieces.

        Args:
            texts: one or several.

        Returns:
            Numbers (batch, n), padded at the right, and the key mask (batch, n).

        >>> MiniLM(10, d_model=8, n_heads=2, n_layers=1).tokens("I saw")
        Traceback (most recent call last):
        ...
        ValueError: this model has no tokenizer: load_minilm() has one
        """
        if self.tokenizer is None:
            raise ValueError("this model has no tokenizer: load_minilm() has one")
        texts = [texts] if isinstance(texts, str) else list(texts)
        rows = [torch.tensor(one.ids) for one in self.tokenizer.encode_batch(texts)]
        ids = nn.utils.rnn.pad_sequence(rows, batch_first=True)  # piece 0 is [PAD]
        key_mask = torch.arange(ids.shape[1]) < torch.tensor([len(row) for row in rows])[:, None]
        device = self.segment.device
        return ids.to(device), key_mask.to(device)

    def pieces(self, text: str) -> list[str]:
        """Return the pieces of one text, as words; "##" marks one that goes on where the last one ended."""
        return [self.piece(at) for at in self.tokens(text)[0][0].tolist()]

    def piece(self, number: int) -> str:
        """Return one piece by its number."""
        return self.tokenizer.id_to_token(number)

    def embed(self, texts: str | Sequence[str]) -> Tensor:
        """Turn texts into vectors of length 1: the mean of their tokens, as the model was trained for.

        Args:
            texts: one or several.

        Returns:
            Vectors (batch, d_model); the dot product of two is their cosine.
        """
        ids, key_mask = self.tokens(texts)
        return sentence_vector(self(ids, key_mask=key_mask), key_mask)


def sentence_vector(x: Tensor, key_mask: Tensor) -> Tensor:
    """Take the mean of the real tokens of x (batch, n, d), brought to length 1: (batch, d).

    >>> real = torch.tensor([[True, True, False]])
    >>> sentence_vector(torch.tensor([[[3.0, 0.0], [3.0, 8.0], [9.0, 9.0]]]), real)
    tensor([[0.6000, 0.8000]])
    """
    real = key_mask[..., None].to(x.dtype)
    return F.normalize((x * real).sum(1) / real.sum(1), dim=-1)


def load_minilm(folder: str | os.PathLike | None = None) -> MiniLM:
    """Load all-MiniLM-L6-v2 (22.6 million numbers, 91 MB), which is downloaded the first time.

    Args:
        folder: where its files are, see `fetch`.

    Returns:
        The model, in `eval` mode, and its tokenizer with it.

    Raises:
        WeightsError: the weights can't be had.
        ModuleNotFoundError: a package that reads them is missing.
    """
    with needed():
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

    weights, pieces = fetch("minilm", folder)
    tokenizer = Tokenizer.from_file(str(pieces))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with torch.device("meta"):  # no numbers are drawn only to be overwritten
        model = MiniLM(tokenizer=tokenizer)
    model.load_state_dict(rename(load_file(weights)), assign=True)
    return model.requires_grad_(False).eval()


def rename(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give published tensors of a BERT our names.

    Args:
        theirs: tensors by the names of the file.

    Returns:
        The same by the names of `MiniLM`. The pooler, which sentence vectors don't use, is left out.

    Raises:
        ValueError: a layer has a part that ours does not.

    >>> list(rename({"encoder.layer.3.output.dense.bias": torch.zeros(1)}))
    ['stack.layers.3.ffn.out_proj.bias']
    """
    ours = {}
    for name, value in theirs.items():
        if name.startswith("encoder.layer."):
            match = re.fullmatch(r"encoder\.layer\.(\d+)\.(.+)\.(\w+)", name)
            if not match or match[2] not in PARTS:
                raise ValueError(f"theirs must be the tensors of a BERT, which has no {name}")
            ours[f"stack.layers.{match[1]}.{PARTS[match[2]]}.{match[3]}"] = value
    outside = {
        "word_embeddings.weight": "embedding.weight",
        "position_embeddings.weight": "stack.learned.weight",
        "LayerNorm.weight": "stack.input_norm.weight",
        "LayerNorm.bias": "stack.input_norm.bias",
    }
    for part, name in outside.items():
        if f"embeddings.{part}" in theirs:
            ours[name] = theirs[f"embeddings.{part}"]
    if "embeddings.token_type_embeddings.weight" in theirs:
        ours["segment"] = theirs["embeddings.token_type_embeddings.weight"][0]
    return ours
