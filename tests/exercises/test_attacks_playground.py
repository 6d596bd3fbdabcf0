"""Answers to the exercises of the playground that readers tried, or that fooled an earlier checker."""

import math

import numpy as np
import pytest
import torch

from attnlab.checks import judge


def by_torchs_optimizer(p, slope, steps, rate):
    trained = torch.nn.Parameter(p.clone())
    optimizer = torch.optim.Adam([trained], lr=rate)
    for _ in range(steps):
        trained.grad = slope(trained.detach())
        optimizer.step()
    return trained.detach()


def with_lerp(p, slope, steps, rate):
    mean, square = torch.zeros_like(p), torch.zeros_like(p)
    for t in range(1, steps + 1):
        g = slope(p)
        mean, square = mean.lerp(g, 0.1), square.lerp(g * g, 0.001)
        p = torch.addcdiv(p, mean / (1 - 0.9**t), (square / (1 - 0.999**t)).sqrt() + 1e-8, value=-rate)
    return p


def a_hundred_steps(p, slope, steps, rate):
    return with_lerp(p, slope, min(steps, 100), rate)


def corrected_in_place(p, slope, steps, rate):
    mean, square = torch.zeros_like(p), torch.zeros_like(p)
    for t in range(1, steps + 1):
        g = slope(p)
        mean, square = (
            (0.9 * mean + 0.1 * g) / (1 - 0.9**t),
            (0.999 * square + 0.001 * g * g) / (1 - 0.999**t),
        )
        p = p - rate * mean / (square.sqrt() + 1e-8)
    return p


def one_square_for_all(p, slope, steps, rate):
    mean, square = torch.zeros_like(p), torch.tensor(0.0)
    for t in range(1, steps + 1):
        g = slope(p)
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * (g * g).mean()
        p = p - rate * mean / (1 - 0.9**t) / ((square / (1 - 0.999**t)).sqrt() + 1e-8)
    return p


def in_single_precision(p, slope, steps, rate):
    return with_lerp(p.float(), slope, steps, rate)


def by_numpy(right, words):
    r, n = right.numpy(), words.numpy()
    return torch.tensor(np.linalg.norm(r - r.sum() / n.sum() * n) / n.sum())


def rounded_to_single(right, words):
    return by_numpy(right, words).float()


def in_single_numbers(right, words):
    right, words = right.float(), words.float()
    return (right - right.sum() / words.sum() * words).norm() / words.sum()


def with_one_less(right, words):
    return by_numpy(right, words) * math.sqrt(len(words) / (len(words) - 1))


def two_errors(right, words):
    return 2 * by_numpy(right, words)


def attend_back(q, k, v, slope, softmax=lambda z: z.softmax(-1)):
    root = math.sqrt(q.shape[-1])
    p = softmax(q @ k.mT / root)
    j = p * (slope @ v.mT - (slope * (p @ v)).sum(-1, keepdim=True)) / root
    return j @ k, j.mT @ q, p.mT @ slope


def as_a_list(q, k, v, slope):
    return list(attend_back(q, k, v, slope))


def by_jacobian(q, k, v, slope):
    root = math.sqrt(q.shape[-1])
    p = (q @ k.mT / root).softmax(-1)
    jacobian = torch.diag_embed(p) - p[..., :, None] * p[..., None, :]
    j = (jacobian @ (slope @ v.mT)[..., None])[..., 0] / root
    return j @ k, j.mT @ q, p.mT @ slope


def own(z):
    e = (z - z.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def no_largest_subtracted(q, k, v, slope):
    return attend_back(q, k, v, slope, lambda z: z.exp() / z.exp().sum(-1, keepdim=True))


def by_grad_of_an_own_softmax(q, k, v, slope):
    q, k, v = (t.detach().requires_grad_() for t in (q, k, v))
    with torch.enable_grad():
        out = own(q @ k.mT / math.sqrt(q.shape[-1])) @ v
    return torch.autograd.grad(out, (q, k, v), slope)


def by_vjp(q, k, v, slope):
    return torch.func.vjp(lambda q, k, v: own(q @ k.mT / math.sqrt(q.shape[-1])) @ v, q, k, v)[1](slope)


def keys_first(q, k, v, slope):
    dq, dk, dv = attend_back(q, k, v, slope)
    return dk, dq, dv


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("playground-adam", with_lerp),
        ("playground-error", by_numpy),
        ("playground-error", rounded_to_single),
        ("playground-error", in_single_numbers),
        ("playground-backward", as_a_list),
        ("playground-backward", by_jacobian),
    ],
)
def test_right_answers_of_another_style_pass(name, answer):
    verdict = judge(name, answer)
    assert verdict.status == "right", verdict.message


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("playground-adam", by_torchs_optimizer, "leaves them to torch's own optimiser. (It called step.)"),
        ("playground-adam", a_hundred_steps, "trained for 250 steps: row 0"),
        ("playground-adam", corrected_in_place, "should be"),
        ("playground-adam", one_square_for_all, "should be"),
        ("playground-adam", in_single_precision, "should be"),
        ("playground-error", with_one_less, "should be"),
        ("playground-error", two_errors, "should be"),
        ("playground-backward", no_largest_subtracted, "overflow"),
        ("playground-backward", by_grad_of_an_own_softmax, "autograd"),
        ("playground-backward", by_vjp, "autograd"),
        ("playground-backward", keys_first, "shape"),
    ],
)
def test_wrong_answers_fail_and_hear_why(name, answer, said):
    verdict = judge(name, answer)
    assert verdict.status == "wrong"
    assert said in verdict.message, verdict.message
