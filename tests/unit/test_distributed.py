"""Attention on many devices is attention on one: outputs, gradients, and bytes as the formulas say."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab import MultiHeadAttention, attention, grouped_attention, masks
from attnlab.distributed import (
    Communicator,
    HeadsApart,
    Split,
    all_reduce_bytes,
    all_to_all_attention,
    all_to_all_bytes,
    merge,
    partial_attention,
    ring_attention,
    ring_bytes,
    split_attention,
    split_attention_bytes,
)
from attnlab.distributed.splits import heads_of

WORLDS = (2, 3, 4)
EXACT, SINGLE = 1e-12, 1e-6
every_world = pytest.mark.parametrize("world", WORLDS)


def draw(*shapes, seed=0, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=g, dtype=torch.float64).to(dtype) for shape in shapes]


def near(got, want, tolerance):
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


# --- merging -----------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    cuts=st.lists(st.integers(0, 9), max_size=5),
    order=st.randoms(use_true_random=False),
    hidden=st.integers(0, 9),
    d_v=st.integers(1, 3),
)
def test_parts_in_any_number_and_order_merge_to_the_whole(cuts, order, hidden, d_v):
    q, k, v, g_out, g_lse = draw((2, 4, 3, 5), (2, 2, 9, 5), (2, 2, 9, d_v), (2, 4, 3, d_v), (2, 4, 3))
    mask = torch.ones(3, 9, dtype=torch.bool)
    mask[1, :hidden] = False  # at 9 this query sees nothing

    def results(run):
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        out, lse = run(*leaves)
        lse = lse.masked_fill(lse == -math.inf, 0.0)
        grads = torch.autograd.grad((out * g_out).sum() + (lse * g_lse).sum(), leaves)
        return [out.detach(), lse.detach(), *grads]

    def in_parts(q, k, v):
        bounds = [0, *sorted(cuts), 9]
        spans = [slice(a, b) for a, b in itertools.pairwise(bounds)]
        order.shuffle(spans)
        parts = [partial_attention(q, k[:, :, s], v[:, :, s], mask=mask[:, s]) for s in spans]
        if len(parts) > 2:  # of parts, some merged before
            parts = [merge(*zip(*parts[:2], strict=True)), *parts[2:]]
        return merge(*zip(*parts, strict=True))

    def whole(q, k, v):
        k, v = (x.repeat_interleave(2, 1) for x in (k, v))
        out = attention(q, k, v, mask=mask, need_weights=True)[0]
        scores = (q @ k.mT / math.sqrt(5)).masked_fill(~mask, -math.inf)
        return out, scores.masked_fill(~mask.any(-1, keepdim=True), -1e9).logsumexp(-1)

    got, want = results(in_parts), results(whole)
    if hidden == 9:
        want[1][..., 1] = 0
    for a, b in zip(got, want, strict=True):
        near(a, b, EXACT)


def test_what_an_empty_part_holds_counts_for_nothing():
    some, lse = draw((2, 3), (2,))
    some.requires_grad_()
    nothing = torch.full((2, 3), math.nan, dtype=torch.float64)
    none = torch.full_like(lse, -math.inf)
    out, total = merge([nothing, some, nothing], [none, lse, none])
    near(out.detach(), some.detach(), EXACT)
    near(total, lse, EXACT)
    out, total = merge([nothing], [none])
    assert out.tolist() == [[0.0] * 3] * 2
    assert total.tolist() == [-math.inf] * 2


def test_sums_of_any_size_merge():
    out, lse = merge([torch.tensor([[1.0]]), torch.tensor([[3.0]])], [torch.tensor([1e4])] * 2)
    assert (out.item(), lse.item()) == (2.0, pytest.approx(1e4 + math.log(2)))
    half = merge([torch.ones(1, 1).half()], [torch.ones(1).half()])
    assert [x.dtype for x in half] == [torch.float32] * 2


def test_a_merge_says_what_does_not_fit():
    with pytest.raises(ValueError, match="merge needs parts, each with its lse; got 0 and 0"):
        merge([], [])
    with pytest.raises(ValueError, match=r"lses\[1\] must have shape \(..., n_q\) = \(2,\), got \(3,\)"):
        merge([torch.ones(2, 3)] * 2, [torch.ones(2), torch.ones(3)])


# --- who holds what ----------------------------------------------------------------------------------------


@given(n=st.integers(0, 40), world=st.integers(1, 9), kind=st.sampled_from(["contiguous", "zigzag"]))
def test_every_token_has_one_place_and_comes_back_to_it(n, world, kind):
    split, x = Split(n, world, kind), torch.arange(n)
    parts = [split.take(x, rank, dim=0) for rank in range(world)]
    assert torch.equal(split.join(parts, dim=0), x)
    assert [len(part) for part in parts] == [split.size(rank) for rank in range(world)]
    runs = [stop - start for rank in range(world) for start, stop in split.runs(rank)]
    assert not runs or max(runs) - min(runs) <= 1


@pytest.mark.parametrize("world", [1, 2, 3, 4, 8])
def test_the_zigzag_is_balanced_and_contiguous_runs_are_not(world):
    n, seen = 4 * world, masks.causal(4 * world)

    def pairs(kind):
        split = Split(n, world, kind)
        return [int(seen[split.positions(rank)].sum()) for rank in range(world)]

    assert len(set(pairs("zigzag"))) == 1
    assert pairs("contiguous") == [16 * rank + 10 for rank in range(world)]


@given(n=st.integers(0, 20), world=st.integers(1, 5), kind=st.sampled_from(["contiguous", "zigzag"]),
       before=st.integers(0, 20), after=st.integers(0, 20))  # fmt: skip
def test_keys_are_passed_on_as_long_as_somebody_sees_them(n, world, kind, before, after):
    split, seen = Split(n, world, kind), masks.window(n, before, after)

    def sees(rank, hop):
        return bool(seen[split.positions(rank)][:, split.positions((rank - hop) % world)].any())

    wanted = [hop for hop in range(world) if any(sees(rank, hop) for rank in range(world))]
    assert split.hops(before, after) == max(wanted, default=0)


def test_heads_are_dealt_out_whole():
    for n_heads, n_kv_heads, world in [(8, 8, 4), (8, 2, 4), (6, 3, 2), (7, 7, 3), (8, 1, 8)]:
        every = [heads_of(n_heads, n_kv_heads, world, rank) for rank in range(world)]
        assert [head for heads, _ in every for head in heads] == list(range(n_heads))
        assert all(reads == [h // (n_heads // n_kv_heads) for h in heads] for heads, reads in every)
    with pytest.raises(
        ValueError, match=r"2 heads can't be dealt out to 3 processes.*take 2.*ring_attention"
    ):
        heads_of(2, 1, 3, 0)


# --- one call, made by many --------------------------------------------------------------------------------


def visible(n, batch, options):
    """The mask of all pairs (batch, 1, n, n) that a call's options mean."""
    mask = torch.ones(batch, 1, n, n, dtype=torch.bool)
    if options.get("is_causal"):
        mask = mask & masks.causal(n)
    if options.get("window"):
        mask = mask & masks.window(n, *options["window"])
    if options.get("key_mask") is not None:
        mask = mask & options["key_mask"][:, None, None]
    if options.get("documents") is not None:
        mask = mask & masks.packed(options["documents"])[:, None]
    return mask


def on_one(q, k, v, grad, options):
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    mask = visible(q.shape[2], len(q), options)
    out = grouped_attention(*leaves, mask=mask, scale=options.get("scale"), need_weights=True)[0]
    return [out.detach(), *torch.autograd.grad(out, leaves, grad)]


def made(n, heads, kv_heads, *, batch=2, d=3, d_v=2, seed=0, dtype=torch.float64):
    shapes = (batch, heads, n, d), (batch, kv_heads, n, d), (batch, kv_heads, n, d_v), (batch, heads, n, d_v)
    return draw(*shapes, seed=seed, dtype=dtype)


def compare(processes, world, scheme, cases):
    """Hold what many processes give for each case to what one gives, and what they send to the formulas."""
    jobs = [(scheme, whole, kind, options) for whole, kind, options in cases]
    every = processes(world, "several", "attend", jobs)
    for at, (whole, kind, options) in enumerate(cases):
        q, k, v, _ = whole
        n, parts = q.shape[2], [ranks[at] for ranks in every]
        split = Split(n, world, kind)
        wants = on_one(*(x.double() for x in whole), options)
        for number, want in enumerate(wants):
            got = split.join([part["results"][number] for part in parts])
            assert got.dtype == q.dtype
            if q.dtype == torch.float64:
                near(got, want, EXACT)
            else:
                assert (got - want).norm() <= SINGLE * want.norm()
        of_labels = sum((8, 1)[i] for i, name in enumerate(("documents", "key_mask")) if name in options)
        for rank, part in enumerate(parts):
            headers = {"headers": 512 * (world - 1)}
            labels = len(q) * split.size(rank) * (world - 1) * of_labels
            sizes = {"n_kv_heads": k.shape[1], "d_head": q.shape[3], "d_v": v.shape[3], "batch": len(q),
                     "bytes_per_number": q.element_size()}  # fmt: skip
            before, after = options.get("window", (n, n))
            window = before, 0 if options.get("is_causal") else after
            if scheme == "ring":
                forward = ring_bytes(split, rank, window=window, **sizes)
                both = forward + ring_bytes(split, rank, window=window, backward=True, **sizes)
            else:
                forward = all_to_all_bytes(split, rank, n_heads=q.shape[1], **sizes)
                # Backward each process sends what it was sent: all that all send, without what others keep.
                both = None
            assert sum(part["forward"].values()) == sum(headers.values()) + labels + forward
            assert both is None or sum(part["sent"].values()) == sum(headers.values()) + labels + both
        if scheme == "all_to_all":
            sent = [sum(p["sent"].values()) - sum(p["forward"].values()) for p in parts]
            forward = [all_to_all_bytes(split, r, n_heads=q.shape[1], **sizes) for r in range(world)]
            assert sum(sent) == sum(forward)
    return every


def documents(n):
    """Two rows of three documents each, their bounds at other places."""
    at = torch.arange(n)
    return torch.stack(((at >= n // 3).long() + (at >= n // 2), (at >= 1).long() - (at >= n - 2).long()))


def padded(n, *lengths):
    return torch.arange(n) < torch.tensor(lengths)[:, None]


def named_cases(heads):
    """The cases that must hold whatever else does: lengths that divide and don't, and all that hides keys."""
    cases = []
    for n, kinds in ((13, 2), (3, 1)):
        hides = {
            "all": {},
            "causal": {"is_causal": True},
            "window": {"window": (2, 1)},
            "causal window": {"window": (4, 9), "is_causal": True},
            "padded": {"key_mask": padded(n, n, n // 2)},
            "one row without keys": {"key_mask": padded(n, 0, n), "is_causal": True},
            "padded left": {"key_mask": padded(n, n // 3, 1).flip(1), "is_causal": True},
            "packed": {"documents": documents(n)},
            "packed, causal, scaled": {"documents": documents(n), "is_causal": True, "scale": 0.3},
            "all at once": {"documents": documents(n), "window": (5, 2), "key_mask": padded(n, n, n - 1)},
        }
        for options in list(hides.values())[:: 3 - kinds]:
            for _ in range(kinds):
                kind = ("contiguous", "zigzag")[len(cases) % 2]
                cases.append((made(n, *heads[len(cases) % len(heads)], seed=len(cases)), kind, options))
    cases += [(made(24, *heads[-1]), "zigzag", {"is_causal": True}), (made(1, *heads[0]), "zigzag", {})]
    return cases


@every_world
def test_a_ring_is_attention_on_one_device(processes, world):
    compare(processes, world, "ring", named_cases([(2, 2), (4, 2), (3, 1), (1, 1)]))


@every_world
def test_an_exchange_of_tokens_for_heads_is_attention_on_one_device(processes, world):
    compare(processes, world, "all_to_all", named_cases([(4, 4), (4, 2), (6, 3), (5, 1), (4, 1)]))


@every_world
@pytest.mark.parametrize("scheme", ["ring", "all_to_all"])
def test_in_single_precision_too(processes, world, scheme):
    cases = [
        (made(29, 4, 2, d=8, d_v=8, dtype=torch.float32), kind, options)
        for kind in ("contiguous", "zigzag")
        for options in ({}, {"is_causal": True}, {"window": (6, 0)})
    ]
    compare(processes, world, scheme, cases)


@st.composite
def calls(draw_):
    n, kv = draw_(st.integers(1, 20)), draw_(st.integers(1, 3))
    heads = kv * draw_(st.integers(1, 3))
    options = {}
    if draw_(st.booleans()):
        options["is_causal"] = True
    if draw_(st.booleans()):
        options["window"] = draw_(st.tuples(st.integers(0, n), st.integers(0, n)))
    if draw_(st.booleans()):
        bits = draw_(st.lists(st.booleans(), min_size=2 * n, max_size=2 * n))
        options["key_mask"] = torch.tensor(bits).view(2, n)
    if draw_(st.booleans()):
        numbers = draw_(st.lists(st.integers(0, 2), min_size=2 * n, max_size=2 * n))
        options["documents"] = torch.tensor(numbers).view(2, n)
    return made(n, heads, kv, seed=n), draw_(st.sampled_from(["contiguous", "zigzag"])), options


@settings(max_examples=5)
@given(cases=st.lists(calls(), min_size=4, max_size=4), world=st.sampled_from(WORLDS))
def test_whatever_is_hidden(processes, cases, world):
    compare(processes, world, "ring", cases)
    compare(processes, world, "all_to_all", [case for case in cases if case[0][0].shape[1] >= world])


# --- what is done, and by whom -----------------------------------------------------------------------------


@every_world
def test_blocks_that_see_nothing_are_skipped_and_counted(processes, world):
    n = 4 * world
    found = {}
    for kind in ("contiguous", "zigzag"):
        case = (made(n, 2, 2), kind, {"is_causal": True})
        found[kind] = [part[0]["work"] for part in compare(processes, world, "ring", [case])]
    runs = 2 * world
    for rank, work in enumerate(found["contiguous"]):
        assert (work["blocks"], work.get("skipped", 0)) == (rank + 1, world - 1 - rank)
        assert work["scores"] == (rank + 1) * 16
    for work in found["zigzag"]:
        assert (work["blocks"], work["skipped"]) == (runs + 1, 2 * runs - (runs + 1))
        assert work["scores"] == (runs + 1) * 4


def test_documents_that_share_no_process_need_no_work(processes):
    own = torch.arange(12)[None].expand(2, 12) // 3
    parts = compare(processes, 4, "ring", [(made(12, 2, 2), "contiguous", {"documents": own})])
    assert [part[0]["work"] for part in parts] == [{"blocks": 1, "skipped": 3, "scores": 9}] * 4


def test_a_window_ends_the_ring_early(processes):
    cases = [(made(16, 2, 2), "contiguous", {"window": (before, 0)}) for before in (0, 4, 5, 15)]
    hops = [
        part["messages"].get("keys and values", 0) / 2 for part in compare(processes, 4, "ring", cases)[0]
    ]
    assert hops == [0, 1, 2, 3]


# --- decoding ----------------------------------------------------------------------------------------------


@every_world
def test_a_cache_in_parts_answers_as_a_whole_one(processes, world):
    for n_k, n_q, owners in [(11, 1, "turns"), (11, 3, "turns"), (9, 2, "last"), (1, 1, "turns")]:
        q, k, v = draw((2, 4, n_q, 3), (2, 2, n_k, 3), (2, 2, n_k, 5), seed=n_k)
        mask = None if n_q == 1 else torch.ones(n_q, n_k, dtype=torch.bool).tril(n_k - n_q)
        places = torch.arange(n_k)
        owner = places % world if owners == "turns" else torch.full_like(places, world - 1)
        want = grouped_attention(q, k, v, mask=mask)
        for out, sent in processes(world, "decode", q, k, v, mask, owner):
            near(out, want, EXACT)
            formula = split_attention_bytes(world, n_heads=4, d_v=5, n_q=n_q, batch=2, bytes_per_number=8)
            assert sent == {"headers": 512 * (world - 1), "partial results": formula}


@every_world
def test_a_text_is_written_by_turns(processes, world):
    torch.manual_seed(0)
    layer = MultiHeadAttention(8, 4, n_kv_heads=2, dtype=torch.float64)
    tokens = draw((1, 7, 8))[0]
    want = layer(tokens, is_causal=True).detach()
    for rank, (out, kept) in enumerate(processes(world, "write", layer.requires_grad_(False), tokens)):
        near(out, want, EXACT)
        assert kept == len(range(rank, 7, world))


# --- heads apart -------------------------------------------------------------------------------------------

LAYERS = {
    "plain": {"n_heads": 4},
    "grouped": {"n_heads": 8, "n_kv_heads": 4},
    "heads that do not divide": {"n_heads": 5, "d_head": 3},
    "fewer key-value heads": {"n_heads": 4, "n_kv_heads": 1},
    "groups that are cut": {"n_heads": 6, "n_kv_heads": 3, "d_head": 2},
    "rotary, no bias": {"n_heads": 4, "rotary": True, "bias": False},
    "tamed": {"n_heads": 4, "n_kv_heads": 2, "qk_norm": True, "sinks": True, "gate": "elementwise"},
    "one gate a head": {"n_heads": 4, "gate": "headwise"},
}


@every_world
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_whose_heads_are_apart_is_the_whole_layer(processes, world, name):
    options = LAYERS[name]
    x, grad, bias = draw((2, 5, 16), (2, 5, 16), (1, options["n_heads"], 5, 5))
    call = {"is_causal": True, "key_mask": padded(5, 5, 3), "bias": bias}
    torch.manual_seed(0)
    layer = MultiHeadAttention(16, dtype=torch.float64, **options)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    whole = x.clone().requires_grad_()
    want = layer(whole, **call)
    want.backward(grad)
    d_head = layer.d_head
    for rank, (out, d_x, heads, kv_heads, grads, sent) in enumerate(
        processes(world, "heads_apart", options, x, grad, call)
    ):
        near(out, want.detach(), EXACT)
        near(d_x, whole.grad, EXACT)
        for key, got in grads.items():
            place = layer.out_proj.bias if key == "bias" else dict(layer.named_parameters())[key]
            whole_grad = None if place is None else place.grad
            if key == "out_proj.weight":
                whole_grad = whole_grad.unflatten(1, (-1, d_head))[:, list(heads)].flatten(1)
            elif key.startswith(("q_proj", "k_proj", "v_proj", "gate_proj", "sinks")):
                some = kv_heads if key[0] in "kv" else heads
                n_heads = layer.n_kv_heads if key[0] in "kv" else layer.n_heads
                whole_grad = whole_grad.unflatten(0, (n_heads, -1))[list(some)].flatten(0, 1)
            if whole_grad is None:
                assert got is None
            else:
                near(got, whole_grad, EXACT)
        once = all_reduce_bytes(x.numel(), world, rank, bytes_per_number=8)
        assert (sent["outputs"], sent["gradients of tokens"]) == (once, once)


def test_heads_that_know_of_each_other_stay_together():
    with pytest.raises(TypeError, match="layer must be a MultiHeadAttention, got Linear"):
        HeadsApart(torch.nn.Linear(2, 2), Communicator())
    with pytest.raises(ValueError, match="know nothing of each other: differential"):
        HeadsApart(MultiHeadAttention(8, 2, differential=0.5), Communicator())
    with pytest.raises(ValueError, match="need_weights and head_weights are of a whole layer"):
        HeadsApart(MultiHeadAttention(8, 2), Communicator())(torch.zeros(1, 2, 8), need_weights=True)


def test_a_function_of_scores_counts_the_heads_of_the_whole_layer():
    from attnlab.distributed.heads import _part_of

    def slanted(score, b, h, q_idx, kv_idx):
        return score - (h + 1) * (q_idx - kv_idx).abs()

    torch.manual_seed(0)
    layer = MultiHeadAttention(8, 4, score_mod=slanted, dtype=torch.float64)
    x = draw((1, 5, 8))[0]
    parts = [_part_of(layer, heads, list(heads)) for heads in (range(0, 1), range(1, 4))]
    near(sum(part(x) for part in parts) + layer.out_proj.bias, layer(x), EXACT)


# --- what goes from process to process ---------------------------------------------------------------------


@every_world
@pytest.mark.parametrize("numbers", [0, 1, 12, 13])
def test_sums_and_exchanges_are_right_and_counted(processes, world, numbers):
    want = torch.arange(numbers, dtype=torch.float64) * (world * (world + 1) // 2)
    for rank, (total, ranks, got, sent, messages) in enumerate(processes(world, "collectives", numbers)):
        assert torch.equal(total, want)
        assert [len(x) for x in ranks] == [min(other, numbers) for other in range(world)]
        assert all(torch.equal(x, torch.arange(len(x)) * (at + 1.0)) for at, x in enumerate(ranks))
        assert [x.tolist() for x in got] == [[float(other)] * rank for other in range(world)]
        assert sent.get("sum", 0) == all_reduce_bytes(numbers, world, rank, bytes_per_number=8)
        others = [other for other in range(world) if other != rank]
        assert sent.get("exchange", 0) == 4 * sum(others)
        assert messages.get("exchange", 0) == sum(other > 0 for other in others)


def test_a_group_is_a_world_of_its_own(processes):
    x = torch.tensor([1.0])
    assert [(rank, total.item()) for rank, total in processes(4, "half_group", x)] == [
        (0, 4.0),
        (0, 6.0),
        (1, 4.0),
        (1, 6.0),
    ]


@pytest.mark.parametrize("how", ["dtype", "width", "window", "length", "scheme", "gradient"])
@pytest.mark.parametrize("scheme", ["ring", "all_to_all"])
def test_what_differs_is_found_before_anything_else_is_sent(processes, how, scheme):
    for message, sent in processes(3, "disagree", how, scheme):
        assert message.startswith("the processes do not agree on what to do:\n  rank 0: ")
        assert message.count("rank ") == 3
        told = {"dtype": "q float64", "width": "(1, 4, n, 3)", "window": "window=(2, 0)", "length": "n=9",
                "scheme": "split_attention of", "gradient": "with gradient"}[how]  # fmt: skip
        assert told in message.splitlines()[2]
        assert told not in message.splitlines()[1]
        assert sent == {"headers": 2 * 512}


def test_calls_that_do_not_fit_are_refused_here():
    q, k, v = draw((1, 4, 5, 3), (1, 2, 5, 3), (1, 2, 5, 3))
    alone, split = Communicator(), Split(5, 1)
    for scheme in (ring_attention, all_to_all_attention):
        with pytest.raises(ValueError, match="split must be for the 1 processes there are, got world = 2"):
            scheme(q, k, v, alone, Split(5, 2))
        with pytest.raises(ValueError, match=r"q must have shape \(batch, heads, size, d\) = \(1, 4, 6, 3\)"):
            scheme(q, k, v, alone, Split(6, 1))
        with pytest.raises(ValueError, match="before must be at least 0, got -1"):
            scheme(q, k, v, alone, split, window=(-1, 0))
        with pytest.raises(
            ValueError, match=r"documents must have shape \(batch, size\) = \(1, 5\), got \(5,\)"
        ):
            scheme(q, k, v, alone, split, documents=torch.arange(5))
        with pytest.raises(TypeError, match="documents must be whole numbers"):
            scheme(q, k, v, alone, split, documents=torch.ones(1, 5))
        out = scheme(*(x.requires_grad_() for x in (q, k, v)), alone, split).sum()
        with pytest.raises(RuntimeError, match="no second derivative"):
            torch.autograd.grad(out, q, create_graph=True)
    with pytest.raises(RuntimeError, match="passes back no gradient"):
        split_attention(q, k, v, alone)
    with pytest.raises(ValueError, match="kind must be one of"):
        Split(5, 1, "striped")
    with pytest.raises(ValueError, match="x must have n = 6 tokens along dim -2"):
        Split(6, 2).take(q, 0)
