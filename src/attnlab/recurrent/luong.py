"""The decoder that moves before it looks: Luong's attention, global and local."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from attnlab import scores
from attnlab.arguments import at_least
from attnlab.recurrent.translator import Memory, Step, Translator

SCORES = ("dot", "general", "concat")
PLACES = ("global", "local-m", "local-p")


class LuongModel(Translator):
    """A decoder that moves to h_t first, asks with it, and changes its output with what comes back.

        a_t = softmax over s of score(h_t, h̄_s),    c_t = Σ_s a_ts h̄_s,    h̃_t = tanh(W_c [c_t; h_t])

    The guess is made from h̃_t. The score is `dot`, h_t · h̄_s; `general`, h_t · W_a h̄_s; or `concat`,
    v · tanh(W_a [h_t; h̄_s]). With `feed` each step also reads the h̃ of the step before (input feeding);
    without it no step waits for attention, and all are computed at once.

    Args:
        src_vocab_size: size of the vocabulary of the source.
        tgt_vocab_size: size of the vocabulary of the target.
        d_embed: width of the embeddings.
        d_hidden: width of the states.
        n_layers: LSTM layers of the encoder and of the decoder; the top ones ask and answer.
        score: how relevant a source token is.
        where: look at all source tokens ("global"), or only within `radius` of a place: the step's own number
            ("local-m", monotonic), or one that the state predicts ("local-p").
        radius: half the width D of the window.
        feed: input feeding.

    Raises:
        ValueError: a size is smaller than 1, or score or where is none of the above.

    References:
        Luong et al. 2015, section 3.

    >>> source, target = torch.zeros(2, 7, dtype=torch.long), torch.zeros(2, 3, dtype=torch.long)
    >>> model = LuongModel(9, 5, d_embed=4, d_hidden=6, score="dot", where="local-p", radius=2)
    >>> model(source, target).shape
    torch.Size([2, 3, 5])
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        *,
        d_embed: int = 32,
        d_hidden: int = 64,
        n_layers: int = 1,
        score: Literal["dot", "general", "concat"] = "general",
        where: Literal["global", "local-m", "local-p"] = "global",
        radius: int = 5,
        feed: bool = False,
    ) -> None:
        super().__init__(src_vocab_size, tgt_vocab_size)
        at_least(1, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        at_least(1, d_embed=d_embed, d_hidden=d_hidden, n_layers=n_layers, radius=radius)
        for name, value, kinds in (("score", score, SCORES), ("where", where, PLACES)):
            if value not in kinds:
                raise ValueError(f"{name} must be one of {', '.join(kinds)}, got {value!r}")
        self.score, self.where, self.radius, self.feed = score, where, radius, feed
        self.embed_source = nn.Embedding(src_vocab_size, d_embed)
        self.embed_target = nn.Embedding(tgt_vocab_size, d_embed)
        self.encoder = nn.LSTM(d_embed, d_hidden, n_layers, batch_first=True)
        self.decoder = nn.LSTM(d_embed + d_hidden * feed, d_hidden, n_layers, batch_first=True)
        if score == "general":
            self.w_a = nn.Linear(d_hidden, d_hidden, bias=False)
        elif score == "concat":
            self.w_a, self.v = nn.Linear(2 * d_hidden, d_hidden), nn.Linear(d_hidden, 1, bias=False)
        if where == "local-p":
            self.w_p, self.v_p = nn.Linear(d_hidden, d_hidden), nn.Linear(d_hidden, 1, bias=False)
        self.w_c = nn.Linear(2 * d_hidden, d_hidden)
        self.out = nn.Linear(d_hidden, tgt_vocab_size)

    def read(self, source: Tensor, key_mask: Tensor | None = None) -> Memory:
        """Read the source from the left; the states at its end are what the decoder starts from."""
        x = self.sources(source)  # (batch, n_s, d_embed)
        if not source.numel():
            h = x.new_zeros(len(source), source.shape[1], self.encoder.hidden_size)
            ends = (x.new_zeros(self.encoder.num_layers, len(source), h.shape[-1]),) * 2
        elif key_mask is None:
            h, ends = self.encoder(x)  # (batch, n_s, d_hidden)
        else:
            h, ends = self._read_padded(x, key_mask)
        keys = self.w_a(h) if self.score == "general" else h
        return Memory(h, keys, ends, None if key_mask is None else key_mask[:, None])

    def begin(self, memory: Memory) -> tuple[Tensor, Tensor, Tensor, int]:
        """Return the states of the LSTM, h̃ of the step before (zeros), and how many steps were made."""
        h, c = memory.ends
        return h, c, torch.zeros_like(h[-1]), 0

    def step(self, word: Tensor, state: tuple[Tensor, Tensor, Tensor, int], memory: Memory) -> Step:
        """Move to h_t, ask with it, and guess from what came back."""
        h, c, last_attentional, t = state
        x = self.targets(word)  # (batch, d_embed)
        x = torch.cat((x, last_attentional), -1) if self.feed else x
        queries, (h, c) = self.decoder(x[:, None], (h, c))  # (batch, 1, d_hidden)
        logits, weights, attentional = self.look(queries, memory, t)
        return Step(logits[:, 0], (h, c, attentional[:, 0], t + 1), weights[:, 0])

    def guesses(self, target: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Make all steps at once, where none waits for the attention of another."""
        if self.feed or not target.numel():
            return super().guesses(target, memory)
        h, c, _, _ = self.begin(memory)
        queries, _ = self.decoder(self.targets(target), (h, c))  # (batch, n_t, d_hidden)
        return self.look(queries, memory)[:2]

    def look(self, queries: Tensor, memory: Memory, first: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Ask with the states of some steps.

        Args:
            queries: h_t (batch, n_t, d_hidden).
            memory: what `read` returned.
            first: how many steps came before.

        Returns:
            Logits (batch, n_t, tgt_vocab_size), weights (batch, n_t, n_s), h̃_t (batch, n_t, d_hidden).
        """
        if self.score == "concat":
            d = queries.shape[-1]
            hidden = queries @ self.w_a.weight[:, :d].T  # W_a [h; h̄] is the sum of two products
            hidden = hidden[:, :, None] + (memory.keys @ self.w_a.weight[:, d:].T + self.w_a.bias)[:, None]
            relevance = self.v(hidden.tanh())[..., 0]  # (batch, n_t, n_s)
        else:
            relevance = scores.dot(queries, memory.keys)
        mask, bell = memory.mask, None
        if self.where != "global":
            bell, in_window = self._window(queries, memory, first)
            mask = in_window if mask is None else mask & in_window
        weights = scores.softmax(relevance, mask)
        weights = weights if bell is None else weights * bell  # no new sum: the paper has none
        attentional = self.w_c(torch.cat((weights @ memory.annotations, queries), -1)).tanh()
        return self.out(attentional), weights, attentional

    def centre(self, queries: Tensor, memory: Memory, first: int = 0) -> Tensor:
        """Return p_t (batch, n_t, 1), the place around which each step looks; source tokens count from 1."""
        if self.where == "local-m":
            steps = torch.arange(first + 1, first + 1 + queries.shape[1], device=queries.device)
            return steps.to(queries.dtype)[None, :, None].expand(len(queries), -1, 1)
        n = queries.new_full((len(queries), 1, 1), memory.annotations.shape[1])
        length = n if memory.mask is None else memory.mask.sum(-1, keepdim=True).to(queries.dtype)
        return length * self.v_p(self.w_p(queries).tanh()).sigmoid()

    def _window(self, queries: Tensor, memory: Memory, first: int) -> tuple[Tensor | None, Tensor]:
        """Return the bell around p_t, of σ = D/2 (only local-p has one), and what lies within D of it."""
        n_s = memory.annotations.shape[1]
        positions = torch.arange(1, n_s + 1, device=queries.device, dtype=queries.dtype)
        distance = positions - self.centre(queries, memory, first)  # (batch, n_t, n_s)
        bell = (-2 * (distance / self.radius).square()).exp() if self.where == "local-p" else None
        return bell, distance.abs() <= self.radius

    def _read_padded(self, x: Tensor, key_mask: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        lengths = key_mask.sum(-1)
        if not torch.equal(key_mask, torch.arange(x.shape[1], device=x.device) < lengths[:, None]):
            raise ValueError("key_mask must be True for the first tokens of each row: pad on the right")
        if not lengths.all():
            raise ValueError("key_mask must have a True in each row: an LSTM can't read an empty text")
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, ends = self.encoder(packed)
        return nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])[0], ends
