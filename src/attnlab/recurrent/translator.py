"""What every model has that reads one sequence and writes another: all steps at once, or one at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attnlab.arguments import at_least, by_name, has_shape, is_boolean, is_number_of, is_tensor, looked_up


class Memory(NamedTuple):
    """What the decoder may look at."""

    annotations: Tensor
    """One vector for each source token, (batch, n_s, d); for a fixed vector n_s is 1."""
    keys: Tensor
    """What the scores need of them, computed once, (batch, n_s, d_k)."""
    ends: Any
    """The last states of the encoder, from which the decoder starts."""
    mask: Tensor | None
    """Boolean (batch, 1, n_s), True = the token exists."""


class Step(NamedTuple):
    """One step of a decoder."""

    logits: Tensor
    """(batch, tgt_vocab_size)."""
    state: Any
    """What the next step starts from."""
    weights: Tensor
    """How much of each source token was taken, (batch, n_s)."""


class Translator(nn.Module):
    """A model that reads a source and writes a target, token by token; the base of those in this package.

    A model says how it reads (`read`), what its decoder starts from (`begin`) and what a step is (`step`); it
    has an `embed_source` and an `embed_target`.

    Args:
        src_vocab_size: size of the vocabulary of the source.
        tgt_vocab_size: size of the vocabulary of the target.
    """

    def __init__(self, src_vocab_size: int, tgt_vocab_size: int) -> None:
        super().__init__()
        self.src_vocab_size, self.tgt_vocab_size = src_vocab_size, tgt_vocab_size

    def sources(self, ids: Tensor) -> Tensor:
        """Return the vectors (..., d_embed) of source tokens."""
        return looked_up("source", ids, self.embed_source.weight, "source tokens")

    def targets(self, ids: Tensor) -> Tensor:
        """Return the vectors (..., d_embed) of target tokens."""
        return looked_up("target", ids, self.embed_target.weight, "target tokens")

    def read(self, source: Tensor, key_mask: Tensor | None = None) -> Memory:
        """Read the source: (batch, n_s) token numbers."""
        raise NotImplementedError

    def begin(self, memory: Memory) -> Any:
        """Return the state before the first step."""
        raise NotImplementedError

    def step(self, word: Tensor, state: Any, memory: Memory) -> Step:
        """Read the word that was written last, (batch,), and guess the next."""
        raise NotImplementedError

    @by_name
    def forward(
        self, source: Tensor, target: Tensor, *, key_mask: Tensor | None = None, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Guess each next target token from those before it, which are given (teacher forcing).

        Args:
            source: token numbers (batch, n_s).
            target: what the decoder reads, (batch, n_t): a start token, then the target without its last.
            key_mask: boolean (batch, n_s), True = the token exists; all exist unless given.
            need_weights: return the weights as well.

        Returns:
            Logits (batch, n_t, tgt_vocab_size), with `need_weights` also the weights (batch, n_t, n_s).

        Raises:
            TypeError: what should be numbers of tokens or a mask is something else.
            ValueError: a shape does not fit, or there is no such token; the message names it.
        """
        self._check(source, key_mask)
        is_tensor("target", target)
        if target.dim() != 2 or len(target) != len(source):
            raise ValueError(f"target must have shape ({len(source)}, n_t), got {tuple(target.shape)}")
        memory = self.read(source, key_mask)
        logits, weights = self.guesses(target, memory)
        return (logits, weights) if need_weights else logits

    def guesses(self, target: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Make a step for each target token: logits (batch, n_t, tgt_vocab_size), and weights."""
        state, steps = self.begin(memory), []
        for t in range(target.shape[1]):
            steps.append(self.step(target[:, t], state, memory))
            state = steps[-1].state
        if not steps:
            empty = memory.annotations[:, :0, :1]  # no rows, but known to autograd
            n_s = memory.annotations.shape[1]
            return empty.expand(-1, -1, self.tgt_vocab_size), empty.expand(-1, -1, n_s)
        return torch.stack([s.logits for s in steps], 1), torch.stack([s.weights for s in steps], 1)

    @torch.no_grad()
    def generate(
        self,
        source: Tensor,
        *,
        bos_token_id: int,
        eos_token_id: int,
        max_new_tokens: int = 64,
        key_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Write the likeliest token, read it, write the next, until every row has ended.

        Args:
            source: token numbers (batch, n_s).
            bos_token_id: the token that is read first.
            eos_token_id: the token that ends a text; after it a row is filled with it.
            max_new_tokens: the longest text.
            key_mask: as in `forward`.

        Returns:
            Tokens (batch, n_t), and the weights (batch, n_t, n_s) with which each was written.

        Raises:
            TypeError: what should be numbers of tokens or a mask is something else.
            ValueError: a shape does not fit, max_new_tokens is smaller than 1, or there is no such token.
        """
        self._check(source, key_mask)
        at_least(1, max_new_tokens=max_new_tokens)
        numbers = {"bos_token_id": bos_token_id, "eos_token_id": eos_token_id}
        is_number_of("target token", self.tgt_vocab_size, **numbers)
        memory = self.read(source, key_mask)
        state = self.begin(memory)
        word = source.new_full((len(source),), bos_token_id)
        ended = torch.zeros_like(word, dtype=torch.bool)
        words, weights = [], []
        while len(words) < max_new_tokens and not (words and ended.all()):
            logits, state, row = self.step(word, state, memory)
            word = logits.argmax(-1).masked_fill(ended, eos_token_id)
            ended = ended | (word == eos_token_id)
            words.append(word)
            weights.append(row)
        return torch.stack(words, 1), torch.stack(weights, 1)

    def _check(self, source: Tensor, key_mask: Tensor | None) -> None:
        is_tensor("source", source)
        if source.dim() != 2:
            raise ValueError(f"source must have shape (batch, n_s), got {tuple(source.shape)}")
        if key_mask is not None:
            is_boolean("key_mask", key_mask)
            has_shape("key_mask", key_mask, source.shape, "(batch, n_s)")
