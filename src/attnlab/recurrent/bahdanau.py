"""The decoder that looks before it moves: Bahdanau's attention, and the same model with one fixed vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnlab.arguments import at_least
from attnlab.recurrent.translator import Memory, Step, Translator
from attnlab.recurrent.units import BidirectionalEncoder, GatedUnit
from attnlab.scores import softmax


class FixedVectorModel(Translator):
    """An encoder that has to put a whole text into one vector, and a decoder that reads it at each step.

    It is `BahdanauModel` with a context that is the same at every step: where the encoder ended from the left
    and from the right, side by side. Nothing else differs, so that what one can and the other can't is due
    to the context. (The model of Cho et al. has the first half of that vector only; this one has more.)

    Args:
        src_vocab_size: size of the vocabulary of the source.
        tgt_vocab_size: size of the vocabulary of the target.
        d_embed: width of the embeddings.
        d_hidden: width of the states.
        d_out: width of the readout, after its maxima; d_hidden / 2 unless given.

    Raises:
        ValueError: a size is smaller than 1.

    References:
        Cho et al. 2014, section 2.2; Bahdanau et al. 2015, sections 2.1 and A.1 (RNNencdec).

    >>> source, target = torch.zeros(2, 7, dtype=torch.long), torch.zeros(2, 3, dtype=torch.long)
    >>> FixedVectorModel(9, 5, d_embed=4, d_hidden=6)(source, target).shape
    torch.Size([2, 3, 5])
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        *,
        d_embed: int = 32,
        d_hidden: int = 64,
        d_out: int | None = None,
    ) -> None:
        super().__init__(src_vocab_size, tgt_vocab_size)
        d_out = max(d_hidden // 2, 1) if d_out is None else d_out
        at_least(1, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        at_least(1, d_embed=d_embed, d_hidden=d_hidden, d_out=d_out)
        self.embed_source = nn.Embedding(src_vocab_size, d_embed)
        self.embed_target = nn.Embedding(tgt_vocab_size, d_embed)
        self.encoder = BidirectionalEncoder(d_embed, d_hidden)
        self.w_s = nn.Linear(d_hidden, d_hidden)
        self.unit = GatedUnit(d_embed + 2 * d_hidden, d_hidden)  # [W, C] on [E y; c]
        self.readout = nn.Linear(d_hidden + d_embed + 2 * d_hidden, 2 * d_out)  # [U_o, V_o, C_o]
        self.out = nn.Linear(d_out, tgt_vocab_size)

    def read(self, source: Tensor, key_mask: Tensor | None = None) -> Memory:
        """Read the source; what is kept of it is one vector."""
        _, ends = self.encoder(self.sources(source), key_mask=key_mask)
        return Memory(ends[:, None], ends[:, None], ends, None)

    def begin(self, memory: Memory) -> Tensor:
        """Return s_0 = tanh(W_s h), h the state from the right at the first token."""
        return self.w_s(memory.ends.chunk(2, -1)[1]).tanh()

    def step(self, word: Tensor, state: Tensor, memory: Memory) -> Step:
        """Ask with s_{t-1}; then guess, and move to s_t, both with what came back."""
        y = self.targets(word)  # (batch, d_embed)
        context, weights = self.look(state, memory)  # (batch, 2 · d_hidden), (batch, n_s)
        after = self.unit(torch.cat((y, context), -1), state)
        return Step(self.guess(state, y, context), after, weights)

    def guesses(self, target: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Go from state to state; the guesses, which no state waits for, are made at once at the end."""
        state, y = self.begin(memory), self.targets(target)
        states, contexts, weights = [], [], []
        for word in y.unbind(1):
            context, row = self.look(state, memory)
            states.append(state)
            contexts.append(context)
            weights.append(row)
            state = self.unit(torch.cat((word, context), -1), state)
        if not states:
            return super().guesses(target, memory)
        logits = self.guess(torch.stack(states, 1), y, torch.stack(contexts, 1))
        return logits, torch.stack(weights, 1)

    def guess(self, state: Tensor, y: Tensor, context: Tensor) -> Tensor:
        """Compute logits from s_{t-1}, the last word and the context, through a layer of maxima of two."""
        pairs = self.readout(torch.cat((state, y, context), -1)).unflatten(-1, (-1, 2))
        return self.out(pairs.amax(-1))

    def look(self, state: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Return the one vector, whoever asks."""
        return memory.annotations[:, 0], state.new_ones(len(state), 1)


class BahdanauModel(FixedVectorModel):
    """A decoder that, before each step, asks every source token how much it has to say.

        e_tj = v · tanh(W_a s_{t-1} + U_a h_j),    α_t = softmax(e_t),    c_t = Σ_j α_tj h_j

    h_j is what an encoder that reads in both directions holds at token j. The context c_t then takes part in
    the next state s_t and in the guess. s_{t-1} asks, because s_t does not exist yet.

    Args:
        src_vocab_size: size of the vocabulary of the source.
        tgt_vocab_size: size of the vocabulary of the target.
        d_embed: width of the embeddings.
        d_hidden: width of the states.
        d_align: width of the hidden layer of the score; d_hidden unless given.
        d_out: width of the readout, after its maxima; d_hidden / 2 unless given.

    Raises:
        ValueError: a size is smaller than 1.

    References:
        Bahdanau et al. 2015, section 3 and appendix A (RNNsearch).

    >>> source, target = torch.zeros(2, 7, dtype=torch.long), torch.zeros(2, 3, dtype=torch.long)
    >>> _, weights = BahdanauModel(9, 5, d_embed=4, d_hidden=6)(source, target, need_weights=True)
    >>> weights.shape
    torch.Size([2, 3, 7])
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        *,
        d_embed: int = 32,
        d_hidden: int = 64,
        d_align: int | None = None,
        d_out: int | None = None,
    ) -> None:
        super().__init__(src_vocab_size, tgt_vocab_size, d_embed=d_embed, d_hidden=d_hidden, d_out=d_out)
        d_align = d_hidden if d_align is None else d_align
        at_least(1, d_align=d_align)
        self.w_a = nn.Linear(d_hidden, d_align, bias=False)
        self.u_a = nn.Linear(2 * d_hidden, d_align)
        self.v = nn.Linear(d_align, 1, bias=False)

    def read(self, source: Tensor, key_mask: Tensor | None = None) -> Memory:
        """Read the source; U_a h_j doesn't depend on the step and is computed here, once."""
        annotations, ends = self.encoder(self.sources(source), key_mask=key_mask)
        mask = None if key_mask is None else key_mask[:, None]
        return Memory(annotations, self.u_a(annotations), ends, mask)

    def look(self, state: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Ask with a state (batch, d_hidden): the context (batch, 2 · d_hidden), the weights (batch, n_s)."""
        # `scores.additive`, with its second product taken out of the loop.
        scores = self.v((self.w_a(state)[:, None] + memory.keys).tanh()).transpose(1, 2)  # (batch, 1, n_s)
        weights = softmax(scores, memory.mask)
        return (weights @ memory.annotations)[:, 0], weights[:, 0]
