"""A language model: numbers of words in, a score for every next word out."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from attnlab.arguments import Device, at_least, by_name, is_tensor, looked_up
from attnlab.cache import KVCache, all_or_nothing
from attnlab.multihead import Rotation
from attnlab.transformer.stacks import Encoder, Positions


class LanguageModel(nn.Module):
    """A decoder-only Transformer: each place guesses the word after it, from itself and what came before.

    Args:
        vocab_size: size of the vocabulary.
        d_model: width of a token.
        n_heads: heads of each layer.
        n_layers: layers.
        positions: how the layers know the order, as in `Encoder`.
        tied: guess with the table that reads: one vector a word.
        std: spread of the words' vectors at the start.
        device: where the parameters are made.
        dtype: dtype of the parameters.
        options: all others of `Encoder`.

    Raises:
        ValueError: a size does not fit or a name is unknown.

    References:
        Radford et al. 2018, section 3.1; Press and Wolf 2017 (tied).

    >>> model = LanguageModel(vocab_size=10, d_model=16, n_heads=4, n_layers=2)
    >>> model(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 10])
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        *,
        positions: Positions | Rotation = "rotary",
        tied: bool = True,
        std: float = 0.02,
        device: Device = None,
        dtype: torch.dtype | None = None,
        **options,
    ) -> None:
        super().__init__()
        at_least(1, vocab_size=vocab_size)
        factory_kwargs = {"device": device, "dtype": dtype}
        self.embedding = nn.Embedding(vocab_size, d_model, **factory_kwargs)
        nn.init.normal_(self.embedding.weight, std=std)
        self.stack = Encoder(d_model, n_heads, n_layers, positions=positions, **factory_kwargs, **options)
        self.out_proj = nn.Linear(d_model, vocab_size, bias=False, **factory_kwargs)
        if tied:
            self.out_proj.weight = self.embedding.weight

    @by_name
    def forward(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        cache: list[KVCache] | None = None,
        position_ids: Tensor | None = None,
        last: bool = False,
    ) -> Tensor:
        """Score every next word at every place.

        Args:
            ids: numbers of words (batch, n).
            mask: boolean, True = may attend; on top of the causal mask, shapes as in `Encoder`.
            key_mask: boolean (batch, n_k): which keys exist.
            cache: the words before, as from `new_cache`.
            position_ids: as in `Encoder`: where the words stand, (n,) or (batch, n).
            last: score at the last place only.

        Returns:
            Scores (batch, n, vocab_size); with `last` (batch, 1, vocab_size).

        Raises:
            ValueError: a shape does not fit, or the cache is full.
        """
        is_tensor("ids", ids)
        if ids.dim() != 2:
            raise ValueError(f"ids must have shape (batch, n), got {tuple(ids.shape)}")
        options = {"mask": mask, "key_mask": key_mask, "cache": cache, "position_ids": position_ids}
        words = looked_up("ids", ids, self.embedding.weight, "words")
        with all_or_nothing(cache):
            x = self.stack(words, is_causal=True, **options)
            return self.out_proj(x[:, -1:] if last else x)

    def _apply(self, fn, recurse=True):
        # Between "meta" and a real device torch makes every parameter anew, and one that has two names twice.
        tied = self.out_proj.weight is self.embedding.weight
        super()._apply(fn, recurse)
        if tied:
            self.out_proj.weight = self.embedding.weight
        return self

    def new_cache(self, batch: int, capacity: int, *, rolling: bool = False) -> list[KVCache]:
        """Set aside room for a decoding, as `Encoder.new_cache`."""
        return self.stack.new_cache(batch, capacity, rolling=rolling)

    def grouped(self, n_kv_heads: int) -> LanguageModel:
        """Make a copy in which groups of query heads share one key-value head: the mean of their own.

        Args:
            n_kv_heads: key-value heads that are left in each layer, a divisor of their number now.

        Returns:
            A new model, to be trained a little further.

        Raises:
            ValueError: n_kv_heads does not divide the number of key-value heads.

        References:
            Ainslie et al. 2023, section 2.1.

        >>> model = LanguageModel(vocab_size=10, d_model=16, n_heads=4, n_layers=2).grouped(1)
        >>> model.new_cache(batch=1, capacity=5)[0].append(*torch.zeros(2, 1, 1, 3, 4))[0].shape
        torch.Size([1, 1, 3, 4])
        """
        pooled = copy.deepcopy(self)
        for layer in pooled.stack.layers:
            layer.attention = layer.attention.grouped(n_kv_heads)
        return pooled
