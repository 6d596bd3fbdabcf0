"""The same patterns on FlexAttention, which the CPU runs without compiling it: its masks, not its speed."""

import pytest
import torch

from attnlab import masks, sparse
from attnlab.dot_product import attention
from attnlab.patterns import Causal, GlobalTokens, RandomBlocks, Strided, Window
from attnlab.sparse import flex

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")

FORMS = {
    "window": lambda *x, **o: sparse.window(*x, 20, 3, **o),
    "causal window": lambda *x, **o: sparse.window(*x, 20, 0, **o),
    "big_bird": lambda *x, **o: sparse.big_bird(
        *x, 9, 4, global_tokens=[0, 77], n_random=2, block_size=16, **o
    ),
    "causal big_bird": lambda *x, **o: sparse.big_bird(
        *x, 9, global_tokens=[3], n_random=1, block_size=8, seed=4, is_causal=True, **o
    ),
    "strided": lambda *x, **o: sparse.strided(*x, 7, **o),
    "fixed": lambda *x, **o: sparse.fixed(*x, 8, 2, is_causal=False, **o),
    "tiled": lambda *x, **o: sparse.tiled(*x, is_causal=True, **o),
}


@pytest.mark.parametrize("n", [1, 150, 257])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_both_engines_agree(name, hidden, n):
    torch.manual_seed(0)
    if n == 1 and "big_bird" in name:
        n = 130
    q, k, v = (torch.randn(2, 3, n, 16) for _ in range(3))
    key_mask = masks.padding([n, n // 2], n) if hidden else None  # the second text may be empty
    with torch.no_grad():
        one, other = (FORMS[name](q, k, v, key_mask=key_mask, engine=e) for e in ("flex", "tiles"))
    assert one.shape == other.shape
    assert (one - other).abs().max() < 1e-5
    if hidden and n == 1:
        assert (one[1] == 0).all()


def test_any_leading_dimensions_and_a_scale():
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 2, 3, 140, 16) for _ in range(3))
    keep = masks.padding([140, 30], 140)[:, 0]
    with torch.no_grad():
        out = sparse.window(q, k, v, 5, key_mask=keep, scale=0.5, engine="flex")
        dense = attention(q, k, v, mask=masks.window(140, 5) & keep[:, None, None, None], scale=0.5)
        assert (out - dense).abs().max() < 1e-5
        alone = sparse.window(q[0, 0, 0], k[0, 0, 0], v[0, 0, 0], 5, scale=0.5, engine="flex")
    assert (alone - dense[0, 0, 0]).abs().max() < 1e-5


class OnGpu:
    """What the choice looks at, of a tensor that this machine may not be able to hold."""

    def __init__(self, d, dtype=torch.float16, n=1024):
        self.is_cuda, self.shape, self.dtype, self.device = True, (2, 4, n, d), dtype, "cpu"


def test_the_engine_is_chosen_by_device_width_and_dtype():
    cpu, near = torch.zeros(1, 64), Window(128, 0)
    assert not flex.picks_flex("auto", cpu, cpu, near)
    assert flex.picks_flex("flex", cpu, cpu, near)
    assert flex.picks_flex("auto", OnGpu(64), OnGpu(64), near)
    assert flex.picks_flex("auto", OnGpu(16, torch.float32), OnGpu(64), near)
    assert not flex.picks_flex("tiles", OnGpu(64), OnGpu(64), near)
    assert not flex.picks_flex("auto", OnGpu(8), OnGpu(64), near)
    assert not flex.picks_flex("auto", OnGpu(64), OnGpu(8), near)
    assert not flex.picks_flex("auto", OnGpu(64, torch.float64), OnGpu(64), near)
    with pytest.raises(ValueError, match="engine must be auto, tiles, flex; got 'triton'"):
        sparse.window(cpu, cpu, cpu, 1, engine="triton")


def test_flex_attention_is_left_alone_where_it_could_skip_little():
    wide = OnGpu(64, n=8192)
    for pattern in (Window(128, 0), Window(96) | GlobalTokens([0]) | RandomBlocks(3), Causal()):
        assert flex.picks_flex("auto", wide, wide, pattern)
    assert not flex.picks_flex("auto", wide, wide, Strided(90) & Causal())  # touches every block


def test_a_kernel_is_made_for_every_pattern_however_many_there_are(monkeypatch):
    """torch gives up after eight, and computes all pairs; here that would raise, with `fullgraph`."""
    torch._dynamo.reset()
    monkeypatch.setattr(flex, "flex_attention", flex._compiled.__wrapped__("eager"))
    torch.manual_seed(0)
    near, some = Window(9, 0), RandomBlocks(3)
    patterns = (
        near,
        near | GlobalTokens([0]),
        Strided(7) & Causal(),
        some,
        near | some,
        (near | some) & Causal(),
    )
    with torch.no_grad():
        for n in (130, 260):
            q, k, v = torch.randn(3, 1, 2, n, 16)
            for pattern in patterns:
                out = sparse.attend(q, k, v, pattern, engine="flex")
                assert (out - attention(q, k, v, mask=pattern.dense(n))).abs().max() < 1e-5
    torch._dynamo.reset()
