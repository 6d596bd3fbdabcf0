"""What a cache of keys and values keeps and refuses; decoding with it is tested in test_multihead."""

import pytest
import torch

from attnlab.cache import KVCache, all_or_nothing, kv_cache_bytes


def test_keys_and_values_may_have_widths_of_their_own():
    cache = KVCache(2, 3, 5, 4, d_v=7)
    k, v = torch.randn(2, 3, 4, 4), torch.randn(2, 3, 4, 7)
    cache.append(k[:, :, :1], v[:, :, :1])
    keys, values = cache.append(k[:, :, 1:], v[:, :, 1:])
    assert torch.equal(keys, k)
    assert torch.equal(values, v)


def test_it_lies_where_and_in_what_dtype_it_was_asked_for():
    cache = KVCache(1, 2, 3, 4, device="meta", dtype=torch.bfloat16)
    room = torch.empty(1, 2, 1, 4, device="meta", dtype=torch.bfloat16)
    for kept in cache.append(room, room):
        assert kept.device.type == "meta"
        assert kept.dtype == torch.bfloat16


def test_clear_forgets_and_keeps_the_room():
    cache = KVCache(1, 1, 2, 1)
    first, _ = cache.append(torch.ones(1, 1, 2, 1), torch.ones(1, 1, 2, 1))
    cache.clear()
    assert cache.length == 0
    again, _ = cache.append(torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 1, 1))
    assert again.flatten().tolist() == [0]
    assert again.data_ptr() == first.data_ptr()


def test_numbers_of_parameters_may_be_kept_without_a_gradient_and_not_with_one():
    wanted, plain = torch.ones(1, 1, 1, 2, requires_grad=True), torch.ones(1, 1, 1, 2)
    cache = KVCache(1, 1, 4, 2)
    for pair in ((wanted, plain), (plain, wanted)):
        with pytest.raises(RuntimeError, match="decode under"):
            cache.append(*pair)
        with torch.no_grad():
            cache.append(*pair)
    assert cache.length == 2


@pytest.mark.parametrize("shape", [(1, 3, 1, 4), (2, 1, 1, 4), (2, 3, 1, 1), (3, 1, 4)])
@pytest.mark.parametrize("which", ["k", "v"])
def test_what_would_be_spread_over_a_batch_or_over_heads_is_refused(which, shape):
    cache = KVCache(2, 3, 5, 4)
    good = {"k": torch.ones(2, 3, 1, 4), "v": torch.ones(2, 3, 1, 4)}
    with pytest.raises(ValueError, match=rf"{which} must have shape \(2, 3, 1, 4\), got"):
        cache.append(**(good | {which: torch.ones(shape)}))
    assert cache.length == 0


def test_a_full_cache_refuses_one_more_and_stays_as_it_was():
    cache = KVCache(1, 1, 3, 2)
    kept, _ = cache.append(torch.ones(1, 1, 3, 2), torch.ones(1, 1, 3, 2))
    with pytest.raises(ValueError, match=r"capacity = 3 tokens; it holds 3, and 1 more"):
        cache.append(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2))
    assert cache.length == 3
    assert kept.eq(1).all()


def test_bytes_of_a_published_shape_and_of_nothing():
    assert kv_cache_bytes(32, 8, 128, 8192, batch=16) == 16 * 2**30
    assert kv_cache_bytes(32, 8, 128, 0) == 0
    assert kv_cache_bytes(61, 1, 576, 10, d_v=0) == 61 * 576 * 10 * 2  # a latent, which values are read off
    assert kv_cache_bytes(1, 3, 5, 7, d_v=11, bytes_per_number=1) == 3 * 7 * (5 + 11)
    with pytest.raises(ValueError, match="bytes_per_number must be at least 1, got 0"):
        kv_cache_bytes(1, 1, 1, 1, bytes_per_number=0)


def test_values_that_are_read_off_the_keys_take_no_room():
    cache, k = KVCache(2, 1, 5, 4, d_v=0), torch.randn(2, 1, 3, 4)
    keys, values = cache.append(k, k[..., :0])
    assert torch.equal(keys, k)
    assert values.shape == (2, 1, 3, 0)


@pytest.mark.parametrize("name", ["n_kv_heads", "capacity", "d_head"])
def test_a_cache_without_room_is_refused(name):
    sizes = {"batch": 1, "n_kv_heads": 1, "capacity": 1, "d_head": 1, "d_v": 1} | {name: 0}
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        KVCache(**sizes)


def numbered(n, start=0):
    return torch.arange(float(start), start + n).reshape(1, 1, n, 1)


def test_truncate_forgets_all_but_the_first_and_adds_nothing():
    cache = KVCache(1, 1, 6, 1)
    cache.append(numbered(5), numbered(5))
    cache.truncate(9)
    assert cache.length == 5
    cache.truncate(2)
    keys, values = cache.append(numbered(1, 7), numbered(1, 8))
    assert keys.flatten().tolist() == [0, 1, 7]
    assert values.flatten().tolist() == [0, 1, 8]
    with pytest.raises(ValueError, match="n must be at least 0, got -1"):
        cache.truncate(-1)


def test_nobody_else_writes_the_length():
    with pytest.raises(AttributeError):
        KVCache(1, 1, 6, 1).length = 3


def test_rows_are_selected_with_their_keys_and_their_values():
    cache = KVCache(3, 1, 2, 1)
    rows = torch.arange(3.0).reshape(3, 1, 1, 1)
    cache.append(rows, 10 * rows)
    cache.select(torch.tensor([2, 0, 2]))
    keys, values = cache.append(rows, rows)
    assert keys[:, 0, 0, 0].tolist() == [2, 0, 2]
    assert values[:, 0, 0, 0].tolist() == [20, 0, 20]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError, ValueError])
def test_a_call_that_ends_badly_leaves_all_its_caches_as_long_as_they_were(stop):
    caches = [KVCache(1, 1, 6, 1) for _ in range(3)]
    with all_or_nothing(caches):
        for part in caches:
            part.append(numbered(2), numbered(2))

    def half_a_step():
        with all_or_nothing(caches):
            caches[0].append(numbered(1), numbered(1))
            with all_or_nothing(caches[1]):
                caches[1].append(numbered(1), numbered(1))
            raise stop

    with pytest.raises(stop):
        half_a_step()
    assert [part.length for part in caches] == [2, 2, 2]
    with all_or_nothing(None):
        pass


def test_a_cache_made_in_inference_mode_serves_outside_of_it_too():
    with torch.inference_mode():
        cache, other = KVCache(1, 1, 6, 1), KVCache(2, 1, 6, 1)
        cache.append(numbered(2), numbered(2))
        other.append(*torch.zeros(2, 2, 1, 1, 1))
        other.select(torch.tensor([1, 0]))
    with torch.no_grad():
        assert cache.append(numbered(1, 2), numbered(1, 2))[0].flatten().tolist() == [0, 1, 2]
        assert other.append(*torch.ones(2, 2, 1, 1, 1))[0].flatten().tolist() == [0, 1, 0, 1]
    with torch.inference_mode():
        assert cache.append(numbered(1, 3), numbered(1, 3))[1].flatten().tolist() == [0, 1, 2, 3]
