"""A language model: numbers of words in, a score for every next word out; and what it writes by itself."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnlab.arguments import at_least
from attnlab.cache import KVCache
from attnlab.transformer.stacks import Encoder, Positions


class LanguageModel(nn.Module):
    """A decoder-only Transformer: each place guesses the word after it, from itself and what came before.

    Args:
        n_words: size of the vocabulary.
        d_model: width of a token.
        n_heads: heads of each layer.
        n_layers: layers.
        positions: how the layers know the order, as in `Encoder`.
        tied: guess with the table that reads: one vector a word.
        std: spread of the words' vectors at the start.
        options: all others of `Encoder`.

    Raises:
        ValueError: a size does not fit or a name is unknown.

    References:
        Radford et al. 2018, section 3.1; Press and Wolf 2017 (tied).

    >>> model = LanguageModel(n_words=10, d_model=16, n_heads=4, n_layers=2)
    >>> model(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 10])
    """

    def __init__(
        self,
        n_words: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        *,
        positions: Positions = "rotary",
        tied: bool = True,
        std: float = 0.02,
        **options,
    ) -> None:
        super().__init__()
        at_least(1, n_words=n_words)
        self.embedding = nn.Embedding(n_words, d_model)
        nn.init.normal_(self.embedding.weight, std=std)
        self.stack = Encoder(d_model, n_heads, n_layers, positions=positions, **options)
        self.out_proj = nn.Linear(d_model, n_words, bias=False)
        if tied:
            self.out_proj.weight = self.embedding.weight

    def forward(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        cache: list[KVCache] | None = None,
        last: bool = False,
    ) -> Tensor:
        """Score every next word at every place.

        Args:
            ids: numbers of words (batch, n).
            mask: boolean, True = may attend; on top of the causal mask, shapes as in `Encoder`.
            key_mask: boolean (batch, n_k): which keys exist.
            cache: the words before, as from `new_cache`.
            last: score at the last place only.

        Returns:
            Scores (batch, n, n_words); with `last` (batch, 1, n_words).

        Raises:
            ValueError: a shape does not fit, or the cache is full.
        """
        if ids.dim() != 2:
            raise ValueError(f"ids must have shape (batch, n), got {tuple(ids.shape)}")
        x = self.stack(self.embedding(ids), mask=mask, key_mask=key_mask, is_causal=True, cache=cache)
        return self.out_proj(x[:, -1:] if last else x)

    def new_cache(self, batch: int, capacity: int) -> list[KVCache]:
        """Set aside room for a decoding of `capacity` tokens."""
        return self.stack.new_cache(batch, capacity)


@torch.no_grad()
def generate(
    model: LanguageModel,
    ids: Tensor,
    n_new: int,
    *,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
    use_cache: bool = True,
) -> Tensor:
    """Write on: one word at a time, each chosen by the scores that the model gives it.

    Args:
        model: the model; it is used as if in `eval` mode.
        ids: the prompts (batch, n), n at least 1.
        n_new: words to be written.
        temperature: the scores are divided by it before a word is drawn; with 0 the best is taken.
        generator: where the draws come from.
        use_cache: keep keys and values from step to step. Without, each step reads all words again; the
            words are the same.

    Returns:
        Prompts and what follows (batch, n + n_new).

    Raises:
        ValueError: a prompt is empty, or n_new or the temperature is negative.

    >>> model = LanguageModel(n_words=10, d_model=16, n_heads=4, n_layers=2)
    >>> generate(model, torch.tensor([[3, 1, 4]]), 5).shape
    torch.Size([1, 8])
    """
    at_least(0, n_new=n_new)
    if temperature < 0:
        raise ValueError(f"temperature must be at least 0, got {temperature}")
    if ids.dim() != 2 or not ids.shape[1]:
        raise ValueError(f"ids must have shape (batch, n) with n at least 1, got {tuple(ids.shape)}")
    was_training = model.training
    model.eval()
    try:
        cache = model.new_cache(ids.shape[0], ids.shape[1] + n_new) if use_cache else None
        unread = ids
        for _ in range(n_new):
            scores = model(unread, cache=cache, last=True)[:, 0]  # (batch, n_words)
            if temperature:
                new = torch.multinomial((scores / temperature).softmax(-1), 1, generator=generator)
            else:
                new = scores.argmax(-1, keepdim=True)
            ids = torch.cat((ids, new), 1)
            unread = new if use_cache else ids
    finally:
        model.train(was_training)
    return ids
