"""The Transformer's experiments: parts that are really left out, losses that are really above the floor."""

import math

import pytest
import torch
from torch.nn import functional as F

from attnbook.experiments.depth import NextWords, by_counting, contrasts, gradient_norms, toy_text, without
from attnbook.experiments.fitting import fit
from attnbook.experiments.hops import Follower, Hops, follow, rings
from attnbook.experiments.next_word import SKIP

TEXT = toy_text({(("a", "b"), ()): 0.5, (("b",), ()): 0.25, (("a", "a", "b"), ()): 0.25})
SIZES = {"vocab_size": 4, "d_model": 8, "n_heads": 2, "n_layers": 2}


def test_each_part_is_left_out_and_the_weights_are_the_same():
    ids = torch.tensor([[0, 2, 3]])
    made = {}
    for part in ("", "residual", "attention"):
        torch.manual_seed(0)
        made[part] = without(part, **SIZES)
    state = made[""].state_dict()
    assert all(torch.equal(a, state[k]) for m in made.values() for k, a in m.state_dict().items())
    layer, x = made["residual"].stack.layers[0], torch.randn(1, 3, 8)
    heard = layer.attention(layer.attention_norm(x), is_causal=True)
    assert torch.allclose(layer(x, is_causal=True), layer.ffn(layer.ffn_norm(heard)), atol=1e-6)
    deaf = made["attention"]
    assert torch.allclose(deaf(ids)[:, 1:2], deaf(ids[:, 1:2]), atol=1e-6)
    assert without("feed-forward", **SIZES).stack.layers[1].ffn is None
    assert isinstance(without("norm", **SIZES).stack.layers[1].attention_norm, torch.nn.Identity)
    assert not isinstance(without("norm", **SIZES).stack.final_norm, torch.nn.Identity)
    assert isinstance(without("every norm", **SIZES).stack.final_norm, torch.nn.Identity)
    with pytest.raises(ValueError, match="part must be residual, norm"):
        without("head", **SIZES)


def test_xavier_is_the_draw_of_torch_s_own_transformer():
    torch.manual_seed(0)
    theirs = torch.nn.Transformer(64, 4, 1, 1, 256, batch_first=True).encoder.layers[0]
    ours = NextWords(TEXT, 1, d_model=64, xavier=True).model(0).stack.layers[0]
    attention = ours.attention
    joint = torch.cat([p.weight for p in (attention.q_proj, attention.k_proj, attention.v_proj)])
    pairs = [
        (joint, theirs.self_attn.in_proj_weight),
        (attention.out_proj.weight, theirs.self_attn.out_proj.weight),
    ]
    pairs += [
        (ours.ffn.in_proj.weight, theirs.linear1.weight),
        (ours.ffn.out_proj.weight, theirs.linear2.weight),
    ]
    for mine, other in pairs:
        assert mine.std().item() == pytest.approx(other.std().item(), rel=0.05)
        assert mine.abs().max().item() == pytest.approx(other.abs().max().item(), rel=0.02)
    assert not attention.q_proj.bias.any()
    assert not theirs.self_attn.in_proj_bias.any()


def test_the_exact_loss_is_the_mean_over_all_sentences():
    task = NextWords(TEXT, 1, d_model=8)
    model = task.model(0)
    total = guesses = 0.0
    for words, p in TEXT.probabilities.items():
        ids = [0, *(TEXT.words.index(word) for word in words), 1]
        logits = model(torch.tensor([ids[:-1]]))[0]
        total += p * F.cross_entropy(logits, torch.tensor(ids[1:]), reduction="sum").item()
        guesses += p * (len(words) + 1)
    assert task.excess(model) == pytest.approx(total / guesses - task.floor, abs=1e-5)
    entropy = -sum(p * math.log(p) for p in TEXT.probabilities.values())
    assert task.floor == pytest.approx(entropy / guesses)


def test_what_counting_pays_by_hand():
    text = toy_text({(("a",), ()): 0.5, (("b", "a"), ()): 0.5})  # guesses: a <end>, b a <end>
    third = math.log(5) - 0.8 * math.log(2)  # shares 2/5, 2/5 and 1/5
    least = math.log(2) / 2.5
    found = by_counting(text)
    assert found["frequencies"] == pytest.approx(third - least)
    assert found["the word before"] == pytest.approx(0, abs=1e-12)  # after b comes a, after a the end


def test_training_comes_down_to_the_floor_and_not_below():
    task = NextWords(TEXT, 1, d_model=16, steps=300, batch=64, exact=True)
    run = task(0.01, 0)
    assert 0 < run.extras["above the floor"] < 0.01
    assert len(run.curve) == 30
    assert run.curve[-1] < 0.1 * run.curve[0]


def test_gradient_norms_are_those_of_autograd():
    model = without("", **SIZES)
    read, guess = TEXT.read, TEXT.guess
    x = model.embedding(read).detach().requires_grad_()
    middle = model.stack.layers[0](x, is_causal=True)
    middle.retain_grad()
    logits = model.out_proj(model.stack.final_norm(model.stack.layers[1](middle, is_causal=True)))
    F.cross_entropy(logits.flatten(0, 1), guess.flatten(), ignore_index=SKIP).backward()
    want = (x.grad.norm() / middle.grad.norm()).item()
    assert gradient_norms(model, read, guess) == pytest.approx([want, 1.0], rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_what_the_chapter_says_of_twelve_layers_before_training(seed):
    text = toy_text({((first, second, *"cdefgh"), ()): 1 / 36 for first in "abcdef" for second in "cdefgh"})

    def shown(part, xavier):
        model = NextWords(text, 12, part=part, xavier=xavier).model(seed).double()
        return contrasts(model, text.read)[-1], gradient_norms(model, text.read, text.guess)[0]

    for xavier in (False, True):
        differ, back = shown("residual", xavier)
        assert differ < 0.05 < 0.1 < shown("", xavier)[0]
        assert 1e-3 < back < 100
        assert shown("residual and norm", xavier)[1] < 1e-3
        assert shown("", xavier)[1] < 10
    assert shown("every norm", False)[1] < 10
    assert shown("every norm", True)[1] > 50


def test_tokens_that_are_alike_have_no_contrast():
    model = without("", **SIZES)
    assert contrasts(model, torch.tensor([[2, 2, 2]])) == pytest.approx([0, 0], abs=1e-3)
    x = model.embedding(torch.tensor([[2, 3]])).detach()
    want = (x - x.mean(1, keepdim=True)).norm() / x.norm()
    assert contrasts(model, torch.tensor([[2, 3]]))[0] == pytest.approx(want.item(), rel=1e-5)
    bare = without("residual and norm", **SIZES).stack.layers[0]
    assert isinstance(bare.ffn_norm, torch.nn.Identity)
    y = torch.randn(1, 3, 8)
    assert torch.allclose(bare(y), bare.ffn(bare.attention(y)), atol=1e-6)


def test_the_rate_rises():
    model, seen = torch.nn.Linear(1, 1), []
    torch.nn.init.zeros_(model.weight), torch.nn.init.zeros_(model.bias)
    where = {"rate": 0.1, "steps": 20, "every": 1, "warm": 10}

    def watch():
        seen.append((model.weight.item(), model.bias.item()))
        return 0.0

    fit(model, lambda: (model(torch.ones(1, 1)) - 9).square().sum(), watch, **where)
    assert seen[0] == pytest.approx((0.01, 0.01))  # Adam's first step is the rate


def test_a_ring_passes_every_name_and_is_followed_step_by_step():
    draw = torch.Generator().manual_seed(0)
    found, start = rings(50, 5, draw), torch.arange(5).expand(50, 5)
    hops = torch.randint(0, 5, (50, 5), generator=draw)
    ends = follow(found, start, hops)
    for ring, row, end in zip(found.tolist(), hops.tolist(), ends.tolist(), strict=True):
        for at, (steps, there) in enumerate(zip(row, end, strict=True)):
            road = [at]
            for _ in range(5):
                road.append(ring[road[-1]])
            assert (len(set(road)), road[5], road[steps]) == (5, at, there)
    assert len({tuple(ring) for ring in found.tolist()}) > 20  # of 24 rings


def test_questions_are_answered_each_by_itself():
    torch.manual_seed(0)
    model, ring = Follower(5, 3, 16, 2, 2), rings(1, 5, torch.Generator().manual_seed(0))
    start, hops = torch.tensor([[4, 2, 0]]), torch.tensor([[1, 3, 2]])
    whole = model(ring, start, hops)
    alone = [model(ring, start[:, at : at + 1], hops[:, at : at + 1]) for at in range(3)]
    assert torch.allclose(whole, torch.cat(alone, 1), atol=1e-5)
    assert (whole[0, 0] - whole[0, 1]).abs().max() > 1e-3


def test_a_follower_without_its_stream_has_the_same_weights():
    ring, one = rings(1, 5, torch.Generator().manual_seed(0)), torch.ones(1, 1, dtype=torch.long)
    made = []
    for part in ("", "residual"):
        torch.manual_seed(0)
        made.append(Follower(5, 3, 16, 2, 1, part))
    whole, bare = made
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), bare.parameters(), strict=True))
    told, layer = bare.name.weight + bare.points_to(ring), bare.stack.layers[0]
    x = torch.cat((told, bare.name(one) + bare.hops(one)), 1)
    heard = layer.attention(layer.attention_norm(x), mask=(torch.arange(6) < 5).expand(6, 6))
    ends = bare.stack.final_norm(layer.ffn(layer.ffn_norm(heard)))
    assert torch.allclose(bare(ring, one, one), bare.out(ends)[:, 5:], atol=1e-5)
    assert Hops(1, part="residual").part == "residual"


def test_a_long_gradient_is_shortened():
    steps = {"steps": 1, "every": 1, "batch": 4, "d_model": 8}
    plain, clipped = (NextWords(TEXT, 1, clip=clip, **steps) for clip in (None, 1e-9))
    start = plain.model(0).state_dict()
    moved = [
        max((a - start[k]).abs().max().item() for k, a in task.train(0.01, 0)[0].state_dict().items())
        for task in (plain, clipped)
    ]
    assert moved[1] < 0.5 * moved[0]  # beside Adam's eps of 1e-8 such a gradient is small


def test_right_answers_are_counted_for_each_number_of_hops():
    class Two(torch.nn.Module):
        def forward(self, ring, start, hops):
            return F.one_hot(follow(ring, start, torch.full_like(hops, 2)), ring.shape[1]).float()

    assert Hops(1, names=5, farthest=3).right(Two(), 0) == [0.0, 1.0, 0.0]
