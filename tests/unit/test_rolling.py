"""A cache that keeps the last tokens: what it shows, what it refuses, and which window it is."""

import pytest
import torch

from attnlab import MultiHeadAttention, masks
from attnlab.rolling import RollingCache
from attnlab.transformer import LanguageModel


def numbered(n, start=0):
    return torch.arange(float(start), start + n).reshape(1, 1, n, 1)


def test_it_keeps_the_last_tokens_and_takes_one_at_a_time():
    k = numbered(8)
    cache = RollingCache(1, 1, capacity=3, d_head=1)
    shown, values = cache.append(k[:, :, :5], -k[:, :, :5])
    assert shown.flatten().tolist() == [0, 1, 2, 3, 4]
    for t in (5, 6, 7):
        order = cache.next_order
        shown, values = cache.append(k[:, :, t : t + 1], -k[:, :, t : t + 1])
        assert shown.flatten().tolist() == order == (-values).flatten().tolist()
        assert sorted(order) == [t - 2, t - 1, t]
    with pytest.raises(ValueError, match="one token at a time; got 2 after 8"):
        cache.append(k[:, :, :2], k[:, :, :2])
    assert cache.length == 8


def test_it_forgets_all_or_nothing():
    cache = RollingCache(1, 1, capacity=3, d_head=1)
    cache.append(numbered(5), numbered(5))
    cache.truncate(5)
    assert cache.length == 5
    with pytest.raises(ValueError, match="n must be 0, got 4: a rolling cache has lost"):
        cache.truncate(4)
    cache.truncate(0)
    assert cache.append(numbered(2), numbered(2))[0].flatten().tolist() == [0, 1]


@pytest.mark.parametrize("at", [0, 2, 5, 9])
@torch.no_grad()
def test_a_call_that_is_refused_or_stopped_loses_nothing(at):
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(8, 2, rotary=True).double(), torch.randn(1, 10, 8).double()
    cache, other = (layer.new_cache(1, 4, rolling=True) for _ in range(2))
    for one in (cache, other):
        for part in x[:, :at].split(1, 1) if at else ():
            layer(part, cache=one)
    with pytest.raises(ValueError, match="mask must"):
        layer(x[:, at : at + 1], cache=cache, mask=torch.ones(7, 7, dtype=torch.bool))
    with pytest.raises(ValueError, match="head_weights must"):
        layer(x[:, at : at + 1], cache=cache, head_weights=torch.ones(3))
    assert cache.length == at
    rest = x[:, at:].split(1, 1)
    for part in rest:
        assert torch.equal(layer(part, cache=cache), layer(part, cache=other))


@pytest.mark.parametrize("n_kv_heads", [1, 2])
@pytest.mark.parametrize("prompt", [1, 3, 4, 5, 10])
@torch.no_grad()
def test_a_prompt_of_any_length_sees_the_window_that_the_cache_keeps(prompt, n_kv_heads):
    """A capacity of w is a window of w keys, the token itself among them: w - 1 before it, not w."""
    torch.manual_seed(0)
    w, n = 4, 12
    layer = MultiHeadAttention(8, 2, n_kv_heads=n_kv_heads, rotary=True).double()
    x = torch.randn(2, n, 8).double()
    cache = layer.new_cache(2, w, rolling=True)
    parts = [x[:, :prompt], *x[:, prompt:].split(1, 1)]
    got = torch.cat([layer(part, cache=cache) for part in parts], 1)
    assert torch.allclose(got, layer(x, mask=masks.window(n, w - 1, 0)), atol=1e-12)
    assert not torch.allclose(got, layer(x, mask=masks.window(n, w, 0)), atol=1e-3)


@torch.no_grad()
def test_a_long_prompt_keeps_the_masks_that_come_with_it():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(8, 2).double(), torch.randn(2, 9, 8).double()
    real = torch.arange(9) >= torch.tensor([[0], [5]])
    pairs = torch.rand(9, 9) < 0.7
    window = masks.window(9, 2, 0)
    got, weights = layer(
        x, cache=layer.new_cache(2, 3, rolling=True), mask=pairs, key_mask=real, need_weights=True
    )
    want, seen = layer(x, mask=pairs & window, key_mask=real, need_weights=True)
    assert torch.allclose(got, want, atol=1e-12)
    assert torch.equal(weights > 0, seen > 0)


@torch.no_grad()
def test_a_model_with_a_rolling_cache_scores_a_long_prompt_as_its_window_does():
    torch.manual_seed(0)
    model = LanguageModel(20, 16, 4, 2, std=1.0).double().eval()
    ids = torch.randint(20, (2, 10))
    got = model(ids, cache=model.new_cache(2, 4, rolling=True))
    assert torch.allclose(got, model(ids, mask=masks.window(10, 3, 0)), atol=1e-12)
