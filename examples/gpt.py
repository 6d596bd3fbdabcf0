"""A GPT with its cache and its writing loop, to be copied and changed.

Decoder-only and pre-norm, with learned positions and an output that shares the embedding's weights, as in
Radford et al. (2018, 2019). Run as a script, it learns to sort digits, in a few seconds.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Cache:
    """Room for the keys and values of one layer, set aside once."""

    def __init__(self, batch: int, room: int, like: Tensor) -> None:
        self.keys = like.new_empty(batch, room, like.shape[-1])
        self.values = torch.empty_like(self.keys)
        self.length = 0

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add (batch, n_new, d_model); return all so far."""
        end = self.length + k.shape[1]
        self.keys[:, self.length : end] = k
        self.values[:, self.length : end] = v
        self.length = end
        return self.keys[:, :end], self.values[:, :end]


class CausalSelfAttention(nn.Module):
    """Let each token attend to itself and to those before it."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model must divide by n_heads")
        self.n_heads = n_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, cache: Cache | None = None) -> Tensor:
        """Map (batch, n, d_model) to (batch, n, d_model)."""
        q, k, v = self.qkv_proj(x).chunk(3, dim=-1)
        if cache is not None:
            k, v = cache.append(k, v)  # (batch, n_k, d_model)
        n_q, n_k = q.shape[1], k.shape[1]
        seen = torch.ones(n_q, n_k, dtype=torch.bool, device=x.device)
        out = F.scaled_dot_product_attention(
            *(self.split(t) for t in (q, k, v)),
            attn_mask=seen.tril(n_k - n_q),  # the last n_q rows
        )
        return self.out_proj(out.transpose(1, 2).flatten(-2))

    def split(self, x: Tensor) -> Tensor:
        """Turn (batch, n, d_model) into (batch, n_heads, n, d_head)."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)


class Block(nn.Module):
    """Attend, then work on each token; both add to the stream."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(d_model)
        self.attention = CausalSelfAttention(d_model, n_heads)
        self.ffn_norm = nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(
            nn.Linear(d_model, 4 * d_model),
            nn.GELU(),
            nn.Linear(4 * d_model, d_model),
        )

    def forward(self, x: Tensor, cache: Cache | None = None) -> Tensor:
        """Map (batch, n, d_model) to (batch, n, d_model)."""
        x = x + self.attention(self.attention_norm(x), cache)
        return x + self.ffn(self.ffn_norm(x))


def distribution(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    min_p: float = 0.0,
) -> Tensor:
    """Map logits (batch, vocab_size) to what a token is drawn with.

    Temperature comes first, then the rules cut, one after another. Of
    equals, the one that comes first in the vocabulary counts as better.
    `top_k` is at least 1, or None; `top_p` is above 0, `min_p` at most 1.
    """
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    if temperature == 0:
        best = logits.argmax(-1)
        return F.one_hot(best, logits.shape[-1]).to(logits.dtype)
    p = (logits / temperature).softmax(-1)
    p, order = p.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        p = p.where(torch.arange(p.shape[-1], device=p.device) < top_k, 0)
        p = p / p.sum(-1, keepdim=True)
    if top_p < 1:
        before = F.pad(p.cumsum(-1)[:, :-1], (1, 0))  # the better ones
        p = p.where(before < top_p, 0)
        p = p / p.sum(-1, keepdim=True)
    p = p.where(p >= min_p * p[:, :1], 0)
    p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


class GPT(nn.Module):
    """Score, at every position, the token that comes next."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        max_positions: int,
    ) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_positions, d_model)
        blocks = (Block(d_model, n_heads) for _ in range(n_layers))
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = nn.LayerNorm(d_model)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        self.lm_head.weight = self.token_embedding.weight  # tied
        # With torch's spread of 1 the first logits would be too large.
        for embedding in (self.token_embedding, self.position_embedding):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(
        self,
        ids: Tensor,
        cache: list[Cache] | None = None,
    ) -> Tensor:
        """Map ids (batch, n) to logits (batch, n, vocab_size).

        With a cache, ids are the tokens after those that it holds.
        """
        start = cache[0].length if cache else 0
        end = start + ids.shape[1]
        if end > self.position_embedding.num_embeddings:
            raise ValueError(f"{end} tokens are more than max_positions")
        x = self.token_embedding(ids)
        x = x + self.position_embedding.weight[start:end]
        for layer, block in enumerate(self.blocks):
            x = block(x, cache[layer] if cache else None)
        return self.lm_head(self.final_norm(x))

    @torch.no_grad()
    def generate(
        self,
        ids: Tensor,
        max_new_tokens: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        min_p: float = 0.0,
        eos_token_id: int | None = None,
    ) -> Tensor:
        """Continue the prompts (batch, n), a token at a time.

        A text that has its end, and a prompt that ends so, goes on with
        that token; once all have theirs, nothing more is written.
        """
        most = self.position_embedding.num_embeddings
        room = min(most, ids.shape[1] + max_new_tokens)
        like = self.lm_head.weight  # as wide, in its dtype, on its device
        cache = [Cache(len(ids), room, like) for _ in self.blocks]
        unread = ids
        for _ in range(max_new_tokens):
            ended = torch.zeros_like(ids[:, -1:], dtype=torch.bool)
            if eos_token_id is not None:
                ended = ids[:, -1:] == eos_token_id
            if ended.all():
                break
            if ids.shape[1] > most:  # all move up, so no key stays right
                cache, unread = None, ids[:, -most:]
            logits = self(unread, cache)[:, -1]  # (batch, vocab_size)
            p = distribution(logits, temperature, top_k, top_p, min_p)
            unread = p.multinomial(1)
            unread = unread.where(~ended, ids[:, -1:])
            ids = torch.cat((ids, unread), dim=1)
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
