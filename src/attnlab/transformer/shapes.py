"""What a step of decoding reads, by the shape of a model: its weights once, and the cache of each text."""

from __future__ import annotations

from dataclasses import dataclass, replace

from attnlab.arguments import at_least
from attnlab.cache import kv_cache_bytes


@dataclass(frozen=True)
class Shape:
    """A decoder-only model without biases, with RMSNorm and a gated feed-forward network.

    Args:
        vocab_size: size of the vocabulary.
        d_model: width of a token.
        n_layers: layers.
        n_heads: query heads of a layer.
        n_kv_heads: key-value heads of a layer.
        d_head: width of a head.
        d_ff: width of the feed-forward network.
        tied: whether the table that reads words also guesses them.
        window: words that a word sees, itself included, if not all; a rolling cache keeps no more.

    >>> Shape(128256, 4096, 32, 32, 8, 128, 14336).parameters
    8030261248
    """

    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_ff: int
    tied: bool = False
    window: int | None = None

    @property
    def parameters(self) -> int:
        """All numbers of the model."""
        return self.read_each_step + (0 if self.tied else self.vocab_size * self.d_model)

    @property
    def read_each_step(self) -> int:
        """Numbers that a step reads, which are all but the input table, of which it needs a row a text."""
        attention = 2 * self.d_model * self.d_head * (self.n_heads + self.n_kv_heads)
        layer = attention + 3 * self.d_model * self.d_ff + 2 * self.d_model
        return self.n_layers * layer + self.d_model + self.vocab_size * self.d_model

    def sharing(self, n_kv_heads: int) -> Shape:
        """Return the same shape with another number of key-value heads."""
        return replace(self, n_kv_heads=n_kv_heads)

    def step_bytes(self, n: int, *, batch: int = 1, bytes_per_number: int = 2) -> tuple[int, int]:
        """Count the bytes that one step of decoding must read.

        Args:
            n: words of each text so far.
            batch: texts written side by side. They share the weights; each has a cache of its own.
            bytes_per_number: 2 for half precision, 4 for single.

        Returns:
            Bytes of weights, and of all caches.

        Raises:
            ValueError: a number is negative, or bytes_per_number smaller than 1.

        References:
            Pope et al. 2023, section 2.

        >>> Shape(10, 4, 2, 2, 1, 2, 8, window=5).step_bytes(100, batch=3)
        (696, 240)
        """
        at_least(1, bytes_per_number=bytes_per_number)
        kept = n if self.window is None else min(n, self.window)
        cache = kv_cache_bytes(
            self.n_layers, self.n_kv_heads, self.d_head, kept, batch=batch, bytes_per_number=bytes_per_number
        )
        return bytes_per_number * self.read_each_step, cache


PUBLISHED = {
    "SmolLM2 135M": Shape(49152, 576, 30, 9, 3, 64, 1536, tied=True),
    "Mistral 7B": Shape(32000, 4096, 32, 32, 8, 128, 14336, window=4096),
    "Llama 2 7B": Shape(32000, 4096, 32, 32, 32, 128, 11008),
    "Llama 3 8B": Shape(128256, 4096, 32, 32, 8, 128, 14336),
    "Llama 2 70B": Shape(32000, 8192, 80, 64, 8, 128, 28672),
    "Llama 3 405B": Shape(128256, 16384, 126, 128, 8, 128, 53248),
}
"""Shapes from Ben Allal et al. 2025; Jiang et al. 2023, table 1; Touvron et al. 2023; Grattafiori et al. 2024
(table 3); and the configurations that were published with the weights."""
