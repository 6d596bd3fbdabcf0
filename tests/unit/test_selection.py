"""Learned selection: equal to dense attention under the mask that it selects, however it was chosen."""

import itertools
from pathlib import Path

import nbformat
import pytest
import torch

from attnlab import MultiHeadAttention, attention, grouped_attention, masks
from attnlab.positions import RotaryPositions
from attnlab.selection import (
    IndexedCache,
    Indexer,
    SelectedAttention,
    branched_attention,
    imitation_loss,
    index_scores,
    keys_of_blocks,
    selected_attention,
    selection_mask,
    top_keys,
)
from attnlab.selection.gathered import GATHERED as gathered_numbers

DOUBLE = {"dtype": torch.float64}


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), **DOUBLE)


def layer(top=3, *, n_kv_heads=2, rotary=True, seed=0, **options):
    torch.manual_seed(seed)
    turn = RotaryPositions(layout="halves", width=4) if rotary else False
    heads = MultiHeadAttention(16, 4, n_kv_heads=n_kv_heads, rotary=rotary, **options, **DOUBLE)
    return SelectedAttention(heads, Indexer(16, top, n_heads=3, width=6, rotary=turn, **DOUBLE))


# --- scores and choice -------------------------------------------------------------------------------------


def test_the_scores_are_those_of_loops():
    q, k, weights = draw(2, 3, 4, 5), draw(2, 7, 5, seed=1), draw(2, 4, 3, seed=2)
    got, bare = index_scores(q, k, weights, scale=0.5), index_scores(q, k)
    for b, i, j in itertools.product(range(2), range(4), range(7)):
        products = [float(q[b, h, i] @ k[b, j]) for h in range(3)]
        want = sum(float(weights[b, i, h]) * max(0.0, 0.5 * products[h]) for h in range(3))
        assert got[b, i, j].item() == pytest.approx(want, abs=1e-12)
        assert bare[b, i, j].item() == pytest.approx(sum(max(0.0, p) for p in products), abs=1e-12)


def test_scores_have_their_gradient():
    leaves = [x.requires_grad_() for x in (draw(1, 2, 3, 4), draw(1, 5, 4, seed=1), draw(1, 3, 2, seed=2))]
    assert torch.autograd.gradcheck(index_scores, leaves)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_of_equal_scores_the_earlier_keys_are_chosen(dtype):
    scores = torch.randint(-2, 3, (50, 40), generator=torch.Generator().manual_seed(0)).to(dtype)
    scores[:, ::7] *= -0.0  # both zeros are one number
    want = torch.sort(scores, dim=-1, descending=True, stable=True).indices
    for top in (1, 3, 8, 40, 99):  # of few, many keys or all; by blocks of six, four and two, and without
        assert torch.equal(top_keys(scores, top), want[:, :top])


def test_fewer_than_k_may_be_seen():
    places = top_keys(draw(5, 5), 3, mask=masks.causal(5))
    assert (places >= 0).sum(-1).tolist() == [1, 2, 3, 3, 3]
    assert ((places >= 0).int().diff(dim=-1) <= 0).all(), "nobody stands behind the others"
    assert top_keys(draw(2, 4), 9).shape == (2, 4)
    assert top_keys(torch.full((1, 4), -torch.inf), 2).tolist() == [[-1, -1]]
    assert top_keys(torch.zeros(3, 0), 2).shape == (3, 0)


def test_the_largest_are_chosen_infinities_too():
    scores = torch.tensor([[1.0, -torch.inf, torch.inf, -3.0, -2.0]])
    assert top_keys(scores, 5).tolist() == [[2, 0, 4, 3, -1]]


def test_blocks_hold_their_keys_up_to_the_query():
    blocks = torch.tensor([[[1, 0]], [[0, -1]]])  # one query, the last of 8 tokens
    assert keys_of_blocks(blocks, 5, 8).tolist() == [
        [[5, 6, 7, -1, -1, 0, 1, 2, 3, 4]],
        [[0, 1, 2, 3, 4, -1, -1, -1, -1, -1]],
    ]


# --- attention over what is chosen -------------------------------------------------------------------------


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("gathered", [2**20, 1])
def test_it_is_dense_attention_under_the_mask_that_it_selects(n_kv_heads, apart, gathered, monkeypatch):
    # All queries at once, or one by one.
    monkeypatch.setitem(gathered_numbers, "cpu", gathered)
    q, k, v = draw(2, 4, 6, 5), draw(2, n_kv_heads, 9, 5, seed=1), draw(2, n_kv_heads, 9, 3, seed=2)
    lead = (2, n_kv_heads, 6, 9) if apart else (2, 6, 9)
    places = top_keys(draw(*lead, seed=3), 4, mask=draw(6, 9, seed=4) > 0.3)
    places[0, ..., 2, :] = -1  # a query that reads nobody
    mask = selection_mask(places, 9)
    mask = mask.repeat_interleave(4 // n_kv_heads, 1) if apart else mask[:, None]
    assert (mask.sum(-1) < 4).any()

    results = []
    for form, how in ((selected_attention, {"places": places}), (grouped_attention, {"mask": mask})):
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        out = form(*leaves, scale=0.7, **how)
        results.append([out, *torch.autograd.grad((out * draw(*out.shape, seed=5)).sum(), leaves)])
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got, want, rtol=0, atol=1e-12)
    assert not results[0][0][0, :, 2].any()
    assert not results[0][1][0, :, 2].any()


def test_nothing_of_n_by_n_is_made():
    q, k, v = torch.randn(3, 1, 1, 3000, 4)
    places = torch.arange(3000).expand(1, 2, -1).mT
    largest = 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            out = function(*args, **kwargs or {})
            for x in out if isinstance(out, tuple) else [out]:
                largest = max(largest, x.numel() if isinstance(x, torch.Tensor) else 0)
            return out

    with Watch(), torch.no_grad():
        selected_attention(q, k, v, places)
    assert largest < 100_000  # n² is 9,000,000


# --- branches ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 3, 8, 13])
def test_each_branch_is_attention_under_its_mask(n):
    size, top, window = 4, 2, 3
    q, k, v = draw(2, 4, n, 5), draw(2, 2, n, 5, seed=1), draw(2, 2, n, 3, seed=2)

    def branch(number, **options):
        gates = torch.zeros(2, 4, n, 3, **DOUBLE)
        gates[..., number] = 0.5
        return branched_attention(q, k, v, gates, block_size=size, top=top, window=window, **options)

    k_all, v_all = (x.repeat_interleave(2, 1) for x in (k, v))
    want = attention(q, k_all, v_all, mask=masks.window(n, window - 1, 0))
    torch.testing.assert_close(branch(2), 0.5 * want, rtol=0, atol=1e-12)

    ended = n // size
    means = [x[:, :, : ended * size].unflatten(2, (ended, size)).mean(3) for x in (k, v)]
    past = (torch.arange(ended) + 1) * size <= torch.arange(n)[:, None] + 1
    want, weights = grouped_attention(q, *means, mask=past, need_weights=True)
    torch.testing.assert_close(branch(0), 0.5 * want, rtol=0, atol=1e-12)
    sums = branch(0, pool=lambda x: x.sum(-2))
    assert n < size or not torch.allclose(sums, branch(0))

    mask = torch.zeros(2, 2, n, n, dtype=torch.bool)
    for b, g, i in itertools.product(range(2), range(2), range(n)):
        shares = weights[b, 2 * g : 2 * g + 2, i].sum(0)
        earlier = sorted(range(i // size), key=lambda block: -shares[block])
        for block in [i // size, *earlier[: top - 1]]:
            mask[b, g, i, block * size : min((block + 1) * size, i + 1)] = True
    want = attention(q, k_all, v_all, mask=mask.repeat_interleave(2, 1))
    torch.testing.assert_close(branch(1), 0.5 * want, rtol=0, atol=1e-12)


# --- how an indexer is trained -----------------------------------------------------------------------------


def test_the_loss_is_the_divergence():
    scores, mask = draw(2, 5, 5), masks.causal(5)
    weights = (draw(2, 3, 5, 5, seed=1) + torch.zeros(5, 5).masked_fill(~mask, -torch.inf)).softmax(-1)
    guess = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    wanted = weights.mean(1)
    want = (wanted * (wanted / guess).log()).nan_to_num(0.0).sum() / 10
    torch.testing.assert_close(imitation_loss(scores, weights, mask=mask), want)
    places = top_keys(scores, 2, mask=mask)
    of = selection_mask(places, 5)
    few, told = wanted * of, scores.masked_fill(~of, -torch.inf).softmax(-1)
    few = few / few.sum(-1, keepdim=True)
    want = (few * (few / told).log()).nan_to_num(0.0).sum() / 10
    torch.testing.assert_close(imitation_loss(scores, weights, mask=mask, places=places), want)


def test_an_indexer_of_the_teachers_own_scores_has_no_loss_and_rows_of_nobody_have_none():
    scores, mask = draw(1, 4, 4).requires_grad_(), masks.causal(4).clone()
    mask[2] = False
    weights = scores.detach().masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0.0)
    for places in (None, top_keys(scores, 2, mask=mask)):
        loss = imitation_loss(scores, weights, mask=mask, places=places)
        (slope,) = torch.autograd.grad(loss, scores)
        assert loss.item() == pytest.approx(0.0, abs=1e-12)
        assert slope.abs().max().item() < 1e-12


# --- the layer ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rotary", [False, True])
def test_the_layer_is_its_heads_under_the_mask_that_the_indexer_selects(rotary, monkeypatch):
    one, x = layer(rotary=rotary), draw(2, 9, 16)
    there = torch.arange(9) >= torch.tensor([[0], [4]])
    place = (there.cumsum(-1) - 1).clamp(min=0)
    hide = {"key_mask": there, "is_causal": True}
    scores = one.indexer.scores(x, position_ids=place)
    may = masks.causal(9) & there[:, None]
    chosen = selection_mask(top_keys(scores, 3, mask=may), 9)
    options = {"position_ids": place} if rotary else {}
    want = one.heads(x, mask=chosen[:, None], **options)
    torch.testing.assert_close(one(x, **hide, position_ids=place), want, rtol=0, atol=1e-12)
    monkeypatch.setattr("attnlab.selection.layers.SCORED", 1)  # query by query
    torch.testing.assert_close(one(x, **hide, position_ids=place), want, rtol=0, atol=1e-12)
    torch.testing.assert_close(one(x, mask=may[:, None], position_ids=place), want, rtol=0, atol=1e-12)


def test_with_room_for_all_it_is_its_heads():
    one, x = layer(top=9), draw(2, 9, 16)
    torch.testing.assert_close(one(x), one.heads(x), rtol=0, atol=1e-12)
    torch.testing.assert_close(one(x, is_causal=True), one.heads(x, is_causal=True), rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("pieces", [(9,), (1,) * 9, (4, 3, 1, 1), (5, 4)])
def test_piece_by_piece_is_at_once(pieces):
    one, x = layer(), draw(2, 9, 16)
    cache = one.new_cache(2, 12)
    got = torch.cat([one(part, cache=cache) for part in x.split(pieces, 1)], 1)
    torch.testing.assert_close(got, one(x, is_causal=True), rtol=0, atol=1e-12)
    assert cache.length == 9
    cache.truncate(5)
    torch.testing.assert_close(one(x[:, 5:], cache=cache), got[:, 5:], rtol=0, atol=1e-12)


@torch.no_grad()
def test_padding_on_the_left_changes_nothing():
    one, x = layer(), draw(1, 6, 16)
    want = one(x, is_causal=True)
    padded = torch.cat((draw(1, 3, 16, seed=7), x), 1)
    there = torch.arange(9)[None] >= 3
    place = (torch.arange(9)[None] - 3).clamp(min=0)
    got = one(padded, is_causal=True, key_mask=there, position_ids=place)
    torch.testing.assert_close(got[:, 3:], want, rtol=0, atol=1e-12)
    cache, parts = one.new_cache(1, 9), []
    for start, end in ((0, 5), (5, 6), (6, 9)):
        options = {"key_mask": there[:, :end], "position_ids": place[:, start:end]}
        parts.append(one(padded[:, start:end], cache=cache, **options))
    torch.testing.assert_close(torch.cat(parts, 1)[:, 3:], want, rtol=0, atol=1e-12)


@torch.no_grad()
def test_sequences_of_a_cache_are_reordered_whole():
    one, x = layer(), draw(2, 6, 16)
    cache, rows = one.new_cache(2, 6), torch.tensor([1, 1])
    one(x[:, :5], cache=cache)
    cache.select(rows)
    got = one(x[:, 5:], cache=cache)
    mixed = torch.cat((x[rows, :5], x[:, 5:]), 1)
    torch.testing.assert_close(got, one(mixed, is_causal=True)[:, 5:], rtol=0, atol=1e-12)


@torch.no_grad()
def test_a_refused_call_leaves_the_cache_as_it_was():
    one, x = layer(), draw(2, 6, 16)
    cache = one.new_cache(2, 8)
    one(x[:, :4], cache=cache)
    for wrong in ({"mask": torch.ones(9, 9) > 0}, {"key_mask": torch.ones(2, 3) > 0}):
        with pytest.raises(ValueError, match="mask must"):
            one(x[:, 4:], cache=cache, **wrong)
        assert cache.length == 4
    got = one(x[:, 4:], cache=cache)
    torch.testing.assert_close(got, one(x, is_causal=True)[:, 4:], rtol=0, atol=1e-12)


def test_gradients_reach_the_heads_and_the_loss_reaches_the_indexer():
    one, x = layer(), draw(2, 9, 16)
    one(x, is_causal=True).square().sum().backward()
    assert all(weight.grad is not None for weight in one.heads.parameters())
    assert all(weight.grad is None for weight in one.indexer.parameters())
    with torch.no_grad():
        weights = one.heads(x, is_causal=True, need_weights=True)[1]
    imitation_loss(one.indexer.scores(x), weights, mask=masks.causal(9)).backward()
    assert all(weight.grad.abs().sum() > 0 for weight in one.indexer.parameters())


def test_dropout_drops_in_training_alone():
    one, x = layer(top=9, dropout=0.5), draw(2, 9, 16)
    assert not torch.equal(one(x), one(x))
    one.eval()
    torch.testing.assert_close(one(x), one.heads(x), rtol=0, atol=1e-12)


# --- what the chapter on sparse attention builds -----------------------------------------------------------


def test_the_chapters_indexer_chooses_reads_and_learns_as_the_package_does():
    (path,) = (Path(__file__).parents[2] / "chapters").glob("*_sparse_attention.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    (code,) = (cell.source for cell in cells if "take-it-with-you" in cell.metadata.get("tags", []))
    chapter = {}
    exec(code, chapter)
    torch.manual_seed(0)
    choose, x, (q, k, v) = (
        chapter["Indexer"](16, width=6, top=5).double(),
        draw(2, 30, 16),
        draw(3, 2, 4, 30, 8),
    )
    scores = choose.to_query(x) @ choose.to_key(x).mT
    places = top_keys(scores, 5, mask=masks.causal(30))
    want = chapter["selected_attention"](q, k, v, choose(x, size=7))
    torch.testing.assert_close(selected_attention(q, k, v, places), want, rtol=0, atol=1e-12)

    choose.top = 30
    weights = attention(q, k, v, is_causal=True, need_weights=True)[1].mean(1)
    losses = (
        imitation_loss(scores, weights, mask=masks.causal(30)),
        chapter["imitation"](choose(x, size=7), weights),
    )
    ours, theirs = (
        torch.autograd.grad(loss, list(choose.parameters()), retain_graph=True) for loss in losses
    )
    for got, of_chapter in zip(ours, theirs, strict=True):
        torch.testing.assert_close(got, of_chapter, rtol=0, atol=1e-12)


# --- what is refused ---------------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused_by_name():
    q, k, v = draw(2, 4, 6, 5), draw(2, 2, 9, 5), draw(2, 2, 9, 3)
    places = torch.zeros(2, 6, 1, dtype=torch.long)
    with pytest.raises(
        ValueError, match=r"places must have shape \(batch, n_q, top\) = \(2, 6, 1\), got \(2, 5, 1\)"
    ):
        selected_attention(q, k, v, places[:, 1:])
    with pytest.raises(TypeError, match=r"places must be whole numbers .* got dtype torch\.float64"):
        selected_attention(q, k, v, places.double())
    with pytest.raises(ValueError, match=r"weights must have shape \(\.\.\., n_q, n_heads\) = \(2, 6, 4\)"):
        index_scores(q, k[:, 0], draw(2, 4, 6))
    with pytest.raises(ValueError, match="must share their width"):
        index_scores(q, k[:, 0, :, :4])
    with pytest.raises(ValueError, match="top must be at least 1, got 0"):
        top_keys(q, 0)
    with pytest.raises(ValueError, match=r"gates must have shape .* = \(2, 4, 9, 3\), got \(2, 4, 9, 2\)"):
        branched_attention(draw(2, 4, 9, 5), k, v, draw(2, 4, 9, 2), block_size=2, top=1, window=1)
    with pytest.raises(ValueError, match="as many keys as queries, got 9 and 6"):
        branched_attention(q, k, v, draw(2, 4, 6, 3), block_size=2, top=1, window=1)
    with pytest.raises(ValueError, match=r"indexer must have d_model and d_query = \(16, 16\), got \(8, 8\)"):
        SelectedAttention(MultiHeadAttention(16, 4), Indexer(8, 2))
    with pytest.raises(ValueError, match="heads must have no score_mod"):
        SelectedAttention(MultiHeadAttention(16, 4, score_mod=lambda s, *_: s), Indexer(16, 2))
    with pytest.raises(TypeError, match="indexer must be Indexer, got Linear"):
        SelectedAttention(MultiHeadAttention(16, 4), torch.nn.Linear(2, 2))
    with pytest.raises(TypeError, match="cache must be what new_cache made, got KVCache"):
        layer()(draw(2, 3, 16), cache=MultiHeadAttention(16, 4).new_cache(2, 4))
    with pytest.raises(ValueError, match=r"mask must be .* got \(2, 4, 3, 3\)"):
        layer()(draw(2, 3, 16), mask=torch.ones(2, 4, 3, 3) > 0)
    with pytest.raises(ValueError, match="index must have shape"):
        IndexedCache(1, 1, 4, 2, 3).append(
            torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2), torch.zeros(1, 2, 4)
        )
    with pytest.raises(ValueError, match="width must be even, got 5"):
        Indexer(16, 2, width=5, rotary=True)
