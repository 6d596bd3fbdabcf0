"""What the processes of the tests run. They read this file as source: `main` is called in each of them."""

import os
import signal
import sys
import threading

import torch
import torch.nn.functional as F

from attnlab import MultiHeadAttention
from attnlab.distributed import (
    HeadsApart,
    Split,
    all_to_all_attention,
    ring_attention,
    split_attention,
)


def main(comm, name, *args, **options):
    return globals()[name](comm, *args, **options)


def several(comm, name, cases):
    """Run many cases of one job, so that the processes are called once."""
    return [globals()[name](comm, *case) for case in cases]


SCHEMES = {"ring": ring_attention, "all_to_all": all_to_all_attention}


def attend(comm, scheme, whole, kind, options):
    """Attend to this process's part of q, k and v, and go back with its part of the output's gradient."""
    q, k, v, grad = whole
    split = Split(q.shape[2], comm.size, kind)
    parts = [split.take(x, comm.rank).requires_grad_() for x in (q, k, v)]
    own = {name: split.take(x, comm.rank, dim=1) if torch.is_tensor(x) else x for name, x in options.items()}
    comm.reset()
    out = SCHEMES[scheme](*parts, comm, split, **own)
    forward = dict(comm.sent)
    out.backward(split.take(grad, comm.rank))
    return {
        "results": [out.detach(), *(x.grad for x in parts)],
        "forward": forward,
        "sent": dict(comm.sent),
        "messages": dict(comm.messages),
        "work": dict(comm.work),
    }


def decode(comm, q, k, v, mask, owners):
    """Attend to those keys that this process owns."""
    mine = (owners == comm.rank).nonzero()[:, 0]
    comm.reset()
    out = split_attention(
        q, k[:, :, mine], v[:, :, mine], comm, mask=None if mask is None else mask[..., mine]
    )
    return out, dict(comm.sent)


def write(comm, layer, tokens):
    """Write a text word by word: the process whose turn it is keeps the new token."""
    cache = layer.new_cache(1, tokens.shape[1])
    outs = []
    with torch.no_grad():
        for t in range(tokens.shape[1]):
            q, k, v = layer._project(tokens[:, t : t + 1], None, None, None)
            if t % comm.size == comm.rank:
                cache.append(k, v)
            kept = (x[:, :, : cache.length] for x in (cache._keys, cache._values))
            outs.append(layer._mixed(split_attention(q, *kept, comm), tokens[:, t : t + 1]))
    return torch.cat(outs, 1), cache.length


def heads_apart(comm, options, x, grad, call):
    """Train one step of a layer whose heads are apart, beside the whole layer."""
    torch.manual_seed(0)
    layer = MultiHeadAttention(x.shape[-1], dtype=x.dtype, **options)
    with torch.no_grad():
        for parameter in layer.parameters():  # sinks and factors too
            parameter += 0.1 * torch.randn_like(parameter)
    apart = HeadsApart(layer, comm)
    comm.reset()
    mine = x.clone().requires_grad_()
    out = apart(mine, **call)
    out.backward(grad)
    grads = {name: p.grad for name, p in apart.part.named_parameters()}
    grads["bias"] = None if apart.bias is None else apart.bias.grad
    return out.detach(), mine.grad, apart.heads, apart.kv_heads, grads, dict(comm.sent)


def collectives(comm, numbers):
    x = torch.arange(numbers, dtype=torch.float64) * (comm.rank + 1)
    comm.reset()
    total = comm.all_reduce(x, "sum")
    ranks = comm.all_gather(x[: comm.rank], [(min(rank, numbers),) for rank in range(comm.size)], "gather")
    got = comm.all_to_all(
        [torch.full((rank,), float(comm.rank)) for rank in range(comm.size)],
        [(comm.rank,)] * comm.size,
        "exchange",
    )
    return total, ranks, got, dict(comm.sent), dict(comm.messages)


def disagree(comm, how, scheme):
    """Let rank 1 be about to do something else."""
    other, n = comm.rank == 1, 6
    split = Split(n, comm.size)
    options = {"window": (2, 0)} if other and how == "window" else {}
    q, k, v = (
        torch.zeros(
            1, 4, split.size(comm.rank), 3 if other and how == "width" else 2,
            dtype=torch.float64 if other and how == "dtype" else torch.float32,
            requires_grad=other and how == "gradient",
        )
        for _ in range(3)
    )  # fmt: skip
    if other and how == "length":
        split = Split(n + comm.size, comm.size)
        q, k, v = (F.pad(x, (0, 0, 0, 1)) for x in (q, k, v))
    comm.reset()
    try:
        if other and how == "scheme":
            split_attention(q, k, v, comm)
        else:
            SCHEMES[scheme](q, k, v, comm, split, **options)
    except ValueError as error:
        return str(error), dict(comm.sent)
    return "nothing was found", dict(comm.sent)


def fail(comm, rank, how):
    """Let one process fail while the others wait for it."""
    comm.all_reduce(torch.ones(3), "a first sum")
    if comm.rank == rank:
        comm.says("is about to fail")
        if how == "raises":
            raise ArithmeticError("this one can't count")
        if how == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "leaves":
            sys.exit(3)
        threading.Event().wait()  # for ever
    return comm.all_reduce(torch.ones(3), "a second sum")


def half_group(comm, x):
    """Let the even ranks and the odd ones be two groups."""
    import torch.distributed as dist

    from attnlab.distributed import Communicator

    groups = [dist.new_group(list(range(first, comm.size, 2))) for first in (0, 1)]
    own = Communicator(groups[comm.rank % 2])
    return own.rank, own.all_reduce(x * (comm.rank + 1), "sum")


def add(comm, x):
    return comm.rank, os.getpid(), x + 1


def train_together(comm, sentences, seed, weighted):
    """Train the tagger with `DistributedDataParallel`, each process on its share of every batch."""
    from torch.nn.parallel import DistributedDataParallel

    tagger, steps = _tagger_and_batches(sentences, seed)
    together, optimizer = DistributedDataParallel(tagger), torch.optim.AdamW(tagger.parameters(), lr=0.01)
    for ids, tags in steps:
        mine_ids, mine_tags = (x.tensor_split(comm.size)[comm.rank] for x in (ids, tags))
        loss = F.cross_entropy(together(mine_ids).flatten(0, 1), mine_tags.flatten(), ignore_index=-100)
        if weighted:  # the mean over processes becomes the mean over words
            loss = loss * (mine_tags != -100).sum() / (tags != -100).sum() * comm.size
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return tagger.state_dict()


def train_alone(sentences, seed):
    """Do the same in one process."""
    tagger, steps = _tagger_and_batches(sentences, seed)
    optimizer = torch.optim.AdamW(tagger.parameters(), lr=0.01)
    for ids, tags in steps:
        loss = F.cross_entropy(tagger(ids).flatten(0, 1), tags.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return tagger.state_dict()


def _tagger_and_batches(sentences, seed):
    from attnbook.tagging.taggers import Tagger, Vocabulary
    from attnbook.tagging.training import _encode, batches

    torch.manual_seed(seed)
    tagger = Tagger(Vocabulary(sentences), context="attention", positions="rotary", d_model=8, n_heads=2)
    return tagger.double(), list(batches(_encode(tagger, sentences), 64))


def torchs_own(comm):
    """Try torch's context parallel: return what it gives for the whole sequence, or what it says."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._attention import context_parallel_unshard

    mesh = init_device_mesh("cpu", (comm.size,), mesh_dim_names=("tokens",))
    g = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, 16, 8, generator=g) for _ in range(3))
    want = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    try:
        with context_parallel(mesh, buffers=[q, k, v], buffer_seq_dims=[2, 2, 2]):
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            (out,) = context_parallel_unshard(mesh, [out], [2])
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return out, want
