"""A GPT in sixty lines of PyTorch, to be copied and changed.

Decoder-only and pre-norm, with learned positions and an output that shares the embedding's weights, as in
Radford et al. (2018, 2019). Run as a script, it learns to sort digits, in a few seconds.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    """Let each token attend to itself and to the tokens before it, in several heads."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (batch, n, d_model) to (batch, n, d_model)."""
        q, k, v = (
            t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (batch, n_heads, n, d_head)
            for t in self.qkv_proj(x).chunk(3, dim=-1)
        )
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(out.transpose(1, 2).flatten(-2))  # (batch, n, d_model)


class Block(nn.Module):
    """Attend, then work on each token; both read a normed stream and add to it."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = CausalSelfAttention(d_model, n_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (batch, n, d_model) to (batch, n, d_model)."""
        x = x + self.attention(self.attention_norm(x))
        return x + self.ffn(self.ffn_norm(x))


class GPT(nn.Module):
    """Score, at every position, the token that comes next."""

    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int, n_layers: int, max_positions: int
    ) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_positions, d_model)
        self.blocks = nn.ModuleList(Block(d_model, n_heads) for _ in range(n_layers))
        self.final_norm = nn.LayerNorm(d_model)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        self.lm_head.weight = self.token_embedding.weight  # tied
        for embedding in (self.token_embedding, self.position_embedding):
            nn.init.normal_(embedding.weight, std=0.02)  # torch's 1 is too much for the first logits

    def forward(self, ids: Tensor) -> Tensor:
        """Map token ids (batch, n) to logits (batch, n, vocab_size)."""
        x = self.token_embedding(ids) + self.position_embedding.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.final_norm(x))

    @torch.no_grad()
    def generate(self, ids: Tensor, max_new_tokens: int, temperature: float = 1.0) -> Tensor:
        """Continue the prompts (batch, n), a token at a time; at temperature 0 with the best token."""
        for _ in range(max_new_tokens):
            logits = self(ids[:, -self.position_embedding.num_embeddings :])[:, -1]  # (batch, vocab_size)
            if temperature == 0:
                new = logits.argmax(-1, keepdim=True)
            else:
                new = (logits / temperature).softmax(-1).multinomial(1)
            ids = torch.cat((ids, new), dim=1)
        return ids


def main() -> None:
    """Learn to write six digits once more, sorted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=250)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    n, vocab_size = 6, 10
    model = GPT(vocab_size, d_model=48, n_heads=4, n_layers=2, max_positions=2 * n)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(1, steps + 1):
        digits = torch.randint(vocab_size, (64, n))
        ids = torch.cat((digits, digits.sort().values), dim=1)  # (64, 2 n)
        logits = model(ids[:, :-1])[:, n - 1 :]  # those of the sorted half, which can be known
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, n:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 1 or step % 50 == 0:
            print(f"step {step:4}  loss {loss.item():.3f}")
    digits = torch.randint(vocab_size, (1000, n))
    right = model.generate(digits, n, temperature=0)[:, n:] == digits.sort().values
    print(f"{right.all(1).double().mean():.0%} of new texts sorted without a mistake")


if __name__ == "__main__":
    main()
