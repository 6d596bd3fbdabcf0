"""The Transformer of Vaswani et al. (2017) in PyTorch, to be copied and changed.

An encoder reads a text, and a decoder that attends to it writes another. As in the paper (sections 3.1 to
3.5): post-norm, sinusoidal positions, ReLU, and one matrix for both embeddings and the output. Run as a
script, it learns to write numbers backwards, in a few seconds.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class MultiHeadAttention(nn.Module):
    """Attend from x to a context, in several heads."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Tensor,
        context: Tensor,
        mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Map (batch, n_q, d) and (batch, n_k, d) to (batch, n_q, d).

        The mask (batch, 1, 1, n_k) is True where a token may be seen.
        """
        q = self.split(self.q_proj(x))  # (batch, n_heads, n_q, d_head)
        k = self.split(self.k_proj(context))  # (..., n_k, d_head)
        v = self.split(self.v_proj(context))
        attend = F.scaled_dot_product_attention
        out = attend(q, k, v, attn_mask=mask, is_causal=is_causal)
        return self.out_proj(out.transpose(1, 2).flatten(-2))

    def split(self, x: Tensor) -> Tensor:
        """Turn (batch, n, d) into (batch, n_heads, n, d_head)."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)


class EncoderLayer(nn.Module):
    """Attend within the source, then work on each token."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.ffn = nn.Sequential(
            nn.Linear(d_model, d_ff),
            nn.ReLU(),
            nn.Linear(d_ff, d_model),
        )
        self.attention_norm = nn.LayerNorm(d_model)
        self.ffn_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Map the source (batch, n, d) to (batch, n, d)."""
        heard = self.attention(x, x, mask)
        x = self.attention_norm(x + self.dropout(heard))
        return self.ffn_norm(x + self.dropout(self.ffn(x)))


class DecoderLayer(EncoderLayer):
    """Attend within the target, then to the source, then work on each."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float,
    ) -> None:
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_norm = nn.LayerNorm(d_model)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
    ) -> Tensor:
        """Map the target (batch, n, d), given what the encoder returned."""
        # Padding at the end of a target comes after all that is real.
        heard = self.attention(x, x, is_causal=True)
        x = self.attention_norm(x + self.dropout(heard))
        found = self.cross_attention(x, memory, memory_mask)
        x = self.cross_norm(x + self.dropout(found))
        return self.ffn_norm(x + self.dropout(self.ffn(x)))


def sinusoidal_positions(n: int, d_model: int) -> Tensor:
    """Return (n, d_model): sines in even columns, cosines in odd."""
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = torch.arange(n)[:, None] * 10000.0 ** (-even / d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


class Transformer(nn.Module):
    """Score the next token at each place of a target, given a source."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        *,
        d_ff: int | None = None,
        dropout: float = 0.1,
        pad_token_id: int = 0,
        max_positions: int = 512,
    ) -> None:
        super().__init__()
        d_ff = 4 * d_model if d_ff is None else d_ff
        needed = {"d_model": d_model, "n_heads": n_heads, "d_ff": d_ff}
        for name, size in needed.items():
            if size < 1:
                raise ValueError(f"{name} must be at least 1, got {size}")
        if d_model % 2 or d_model % n_heads:
            raise ValueError("d_model must divide by 2 and by n_heads")
        self.pad_token_id = pad_token_id
        sizes = (d_model, n_heads, d_ff, dropout)
        # One table for source, target and output.
        self.embedding = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        positions = sinusoidal_positions(max_positions, d_model)
        positions = positions.to(self.embedding.weight.dtype)
        self.register_buffer("positions", positions, persistent=False)
        layers = range(n_layers)
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in layers)
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in layers)
        self.dropout = nn.Dropout(dropout)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Map ids (batch, n_source), (batch, n_target), padded at the end.

        Returns:
            Logits (batch, n_target, vocab_size).
        """
        return self.decode(target, *self.encode(source))

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return the memory (batch, n_source, d) and its mask."""
        mask = (source != self.pad_token_id)[:, None, None]
        x = self.embed(source)
        for layer in self.encoder:
            x = layer(x, mask)
        return x, mask

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
    ) -> Tensor:
        """Return the logits (batch, n_target, vocab_size)."""
        x = self.embed(target)
        for layer in self.decoder:
            x = layer(x, memory, memory_mask)
        return F.linear(x, self.embedding.weight)

    def embed(self, ids: Tensor) -> Tensor:
        """Return embeddings, scaled, plus positions: (batch, n, d)."""
        if ids.shape[1] > len(self.positions):
            raise ValueError(f"there are {len(self.positions)} positions")
        x = self.embedding(ids) * self.embedding.embedding_dim**0.5
        return self.dropout(x + self.positions[: ids.shape[1]])

    @torch.no_grad()
    def generate(
        self,
        source: Tensor,
        bos_token_id: int,
        eos_token_id: int,
        max_new_tokens: int,
    ) -> Tensor:
        """Write the best token at each step; pad a text that has ended.

        Without dropout, whatever mode the model is in.
        """
        was_training = self.training
        self.eval()
        memory = self.encode(source)
        ids = torch.full_like(source[:, :1], bos_token_id)
        ended = torch.zeros_like(ids, dtype=torch.bool)
        for _ in range(max_new_tokens):
            new = self.decode(ids, *memory)[:, -1:].argmax(-1)  # (batch, 1)
            padded = new.masked_fill(ended, self.pad_token_id)
            ids = torch.cat((ids, padded), dim=1)
            ended |= new == eos_token_id
            if ended.all():
                break
        self.train(was_training)
        return ids[:, 1:]


PAD, BOS, EOS = 10, 11, 12  # after the ten digits


def numbers(batch: int, n: int) -> tuple[Tensor, Tensor]:
    """Return numbers of 1 to n digits (batch, n), and each backwards between BOS and EOS (batch, n + 2)."""
    lengths, at = torch.randint(1, n + 1, (batch, 1)), torch.arange(n)
    source = torch.randint(10, (batch, n)).where(at < lengths, PAD)
    backwards = source.gather(1, (lengths - 1 - at) % n)  # below 0 it counts from the end, where padding is
    target = F.pad(backwards, (1, 1), value=PAD).scatter(1, lengths + 1, EOS)
    target[:, 0] = BOS
    return source, target


def main() -> None:
    """Learn to write numbers backwards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    n = 6
    model = Transformer(
        13, d_model=48, n_heads=4, n_layers=2, dropout=0.0, pad_token_id=PAD, max_positions=n + 2
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, steps + 1):
        source, target = numbers(64, n)
        logits = model(source, target[:, :-1])  # (64, n + 1, 13)
        loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 1 or step % 50 == 0:
            print(f"step {step:4}  loss {loss.item():.3f}")
    source, target = numbers(1000, n)
    written = model.generate(source, BOS, EOS, n + 1)
    written = F.pad(written, (0, n + 1 - written.shape[1]), value=PAD)
    print(f"{(written == target[:, 1:]).all(1).double().mean():.0%} of new numbers written without a mistake")


if __name__ == "__main__":
    main()
