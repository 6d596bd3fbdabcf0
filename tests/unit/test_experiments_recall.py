"""Causal forms behind one call, and the task on which they recall."""

import pytest
import torch
import torch.nn.functional as F

from attnbook.experiments.descent import descend
from attnbook.experiments.forms import FORMS, form
from attnbook.experiments.recall import Recall, answers, question, texts


def inputs(*shape, seed=0):
    draw = torch.Generator().manual_seed(seed)
    q, k, v = torch.randn(3, *shape, generator=draw)
    return q, k, v, torch.rand(*shape[:-1], 1, generator=draw)


def test_softmax_and_elu_are_what_their_formulas_say():
    q, k, v, rate = inputs(2, 7, 6)
    want = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(form("softmax", 6)(q, k, v, rate, None), want, atol=1e-6)
    far = torch.arange(7)[:, None] - torch.arange(7)
    scores = q @ k.mT / 6**0.5 + far * torch.tensor(0.5).log()
    want = scores.masked_fill(far < 0, -torch.inf).softmax(-1) @ v
    assert torch.allclose(form("softmax, a slope", 6)(q, k, v, 0 * rate + 0.5, None), want, atol=1e-6)
    weights = ((F.elu(q) + 1) @ (F.elu(k) + 1).mT).tril()
    want = weights / weights.sum(-1, keepdim=True) @ v
    assert torch.allclose(form("elu + 1", 6)(q, k, v, rate, None), want, atol=1e-5)


def test_a_gate_that_stays_open_is_a_plain_sum_and_the_delta_rule_overwrites():
    q, k, v, _ = inputs(2, 7, 6)
    unit = [F.normalize(x, dim=-1) for x in (q, k)]
    want = (unit[0] @ unit[1].mT).tril() @ v
    assert torch.allclose(form("gate", 6)(q, k, v, torch.ones(2, 7, 1), None), want, atol=1e-5)
    assert torch.allclose(form("sum", 6)(q, k, v, torch.zeros(2, 7, 1), None), want, atol=1e-5)
    for name, phi in (("sum, no signs", torch.abs), ("elu + 1, no division", lambda x: F.elu(x) + 1)):
        features = [F.normalize(phi(x), dim=-1) for x in (q, k)]
        want = (features[0] @ features[1].mT).tril() @ v
        assert torch.allclose(form(name, 6)(q, k, v, None, None), want, atol=1e-5)
    features = [F.normalize(x.abs(), dim=-1) for x in (q, k)]
    weights = (features[0] @ features[1].mT).tril()
    less = (weights - weights.sum(-1, keepdim=True) / torch.arange(1.0, 8)[:, None]).tril()
    assert torch.allclose(form("no signs, less the mean", 6)(q, k, v, None, None), less @ v, atol=1e-5)
    same = k[:, :1].expand_as(k)
    out = form("delta rule", 6)(same, same, v, torch.ones(2, 7, 1), None)
    assert torch.allclose(out, v, atol=1e-5)
    rates = torch.rand(2, 7, 2)  # the first is what stays, the second what is written
    kept = torch.cat((torch.ones(2, 7, 1), rates[..., 1:]), -1)
    assert torch.allclose(
        form("gate and delta", 6)(q, k, v, kept, None), form("delta rule", 6)(q, k, v, rates[..., 1:], None)
    )
    alone = torch.cat((torch.zeros(2, 7, 1), torch.ones(2, 7, 1)), -1)  # nothing of the past stays
    want = (unit[0] * unit[1]).sum(-1, keepdim=True) * v
    assert torch.allclose(form("gate and delta", 6)(q, k, v, alone, None), want, atol=1e-5)


@pytest.mark.parametrize("name", FORMS)
def test_no_form_looks_ahead_and_a_hidden_token_leaves_no_trace(name):
    q, k, v, rate = inputs(1, 9, 8)
    attend = form(name, 8, seed=1)
    seen = torch.ones(1, 9, dtype=torch.bool)
    seen[:, 4] = False
    out = attend(q, k, v, rate, seen)
    k, v = k.clone(), v.clone()
    k[:, 4], v[:, 4], k[:, -1], v[:, -1] = 2, 3, 1, 5
    again = attend(q, k, v, rate, seen)
    assert torch.allclose(out[:, :-1], again[:, :-1], atol=1e-5)
    assert not torch.allclose(out[:, -1], again[:, -1], atol=1e-2)


def test_an_unknown_form_is_named():
    with pytest.raises(ValueError, match="'cosine'"):
        form("cosine", 8)


@pytest.mark.parametrize("name", ["FAVOR+", "RFA, gate"])
def test_a_form_saves_the_random_features_it_was_trained_with(name):
    trained, fresh, given = form(name, 8, seed=0), form(name, 8, seed=1), inputs(2, 6, 8)
    assert not torch.equal(fresh(*given, None), trained(*given, None))
    fresh.load_state_dict(trained.state_dict())
    assert torch.equal(fresh(*given, None), trained(*given, None))


def test_keys_of_a_text_differ_and_the_newest_value_is_asked_for():
    draw = torch.Generator().manual_seed(0)
    which, numbers, at = texts(50, 6, asked=2, keys=9, values=5, times=3, draw=draw)
    assert which.shape == (50, 6)
    assert numbers.shape == (50, 3, 6)
    assert at.shape == (50, 2)
    assert all(len(set(row)) == 6 for row in which.tolist())
    assert all(len(set(row)) == 2 for row in at.tolist())
    keys = torch.eye(9)[which]
    got = answers(form("delta rule", 9), keys, numbers, at, values=5).argmax(-1)
    assert torch.equal(got, numbers[:, -1].gather(1, at))
    summed = answers(form("gate", 9), keys, numbers, at, values=5)  # counts how often each value was written
    want = F.one_hot(numbers, 5).sum(1).gather(1, at[..., None].expand(-1, -1, 5))
    assert torch.allclose(summed, want.float(), atol=1e-5)


def test_models_side_by_side_do_not_disturb_one_another():
    task = Recall.of("elu + 1", d=4, pairs=(2, 3), keys=4, values=3, steps=40)
    (alone,) = task.together([(0.1, 1)])
    both = task.together([(0.02, 1), (0.1, 0), (0.1, 1)])
    assert alone.curve == pytest.approx(both[2].curve, abs=1e-6)
    assert list(alone.extras) == ["2 pairs", "3 pairs", "pairs kept"]
    assert alone.value == pytest.approx((alone.extras["2 pairs"] + alone.extras["3 pairs"]) / 2)


def test_a_run_that_diverged_has_no_value():
    (lost,) = Recall.of("delta rule", d=4, pairs=(2,), keys=4, values=3, steps=40).together([(1e38, 0)])
    assert lost.diverged


def test_where_nothing_is_to_be_forgotten_training_turns_gate_and_delta_rule_into_sums(monkeypatch):
    trained = []

    def watched(parameters, *args, **how):
        trained.append(parameters[-1])
        return descend(parameters, *args, **how)

    monkeypatch.setattr("attnbook.experiments.recall.descend", watched)
    for name, rate in (("gate", 0.08), ("delta rule", 0.16)):
        Recall.of(name, steps=200).together([(rate, 0)])
    gate, beta = (rates[0, 0].sigmoid().item() for rates in trained)
    assert gate > 0.95
    assert beta < 0.25  # 0.08; it begins at 0.95
    whole = form("delta rule", 16)

    def held(q, k, v, rate, hidden):
        return whole(q, k, v, torch.ones_like(rate), hidden)

    assert Recall(lambda seed: held, steps=200).together([(0.16, 0)])[0].extras["64 pairs"] < 0.6


def test_a_question_is_a_key_of_the_text_and_neighbours_are_as_alike_as_was_asked_for():
    q, k, v, wanted = question(300, 64, seed=0)
    q_near, k_near, *_ = question(300, 64, alike=0.5, shift=4, seed=0)
    assert q.shape == (300, 1, 32)
    assert k.shape == (300, 64, 32)
    at = (q @ k.mT).argmax(-1)
    assert torch.allclose((q @ k.mT).amax(-1), torch.ones(300, 1).double())
    assert v.gather(1, at[..., None].expand(-1, -1, 8)).argmax(-1).equal(wanted)
    assert at.unique().numel() > 55
    # Groups of eight begin four places before the text, so places 3 and 4 belong to two of them.
    for keys, within in ((k, 0.0), (k_near, 0.5)):
        between = (keys[:, 1:] * keys[:, :-1]).sum(-1).mean(0)
        borders = torch.arange(63) % 8 == 3
        assert (between[borders].abs() < 0.05).all()
        assert ((between[~borders] - within).abs() < 0.08).all()
    assert q_near.norm(dim=-1).sub(1).abs().max() < 1e-12
