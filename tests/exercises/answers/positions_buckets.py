"""Distances in T5's buckets: one by one while they are small, then in ranges that widen by a factor."""

import math

import numpy as np
import torch

from answers import right, wrong


def bucket(distance, n_buckets, longest, *, exact=None, power=1.0, whole=torch.floor, last=1):
    """Right; or with something changed."""
    half = n_buckets // 2 if exact is None else exact
    share = (distance.clamp_min(half) / half).log() / math.log(longest / half)
    far = (half + whole((n_buckets - half) * share**power)).long().clamp_max(n_buckets - last)
    return torch.where(distance < half, distance, far)


right(bucket, "the formula")
right(lambda r, n, most: bucket(r, n, most).int(), "32 bits")


@right
def ranges_counted(distance, n_buckets, longest):
    half = n_buckets // 2
    ends = [half * (longest / half) ** (j / half) for j in range(1, half)]
    found = [r if r < half else half + sum(r >= end for end in ends) for r in distance.flatten().tolist()]
    return torch.tensor(found).view(distance.shape)


@right
def thresholds(distance, n_buckets, longest):
    half = n_buckets // 2
    ends = [*range(1, half + 1), *(half * (longest / half) ** (j / half) for j in range(1, half))]
    return torch.bucketize(distance.double(), torch.tensor(ends, dtype=torch.float64), right=True)


@right
def in_numpy(distance, n_buckets, longest):
    r, half = distance.numpy(), n_buckets // 2
    far = half + half * np.log(np.maximum(r, half) / half) / np.log(longest / half)
    return torch.from_numpy(np.where(r < half, r, np.minimum(n_buckets - 1, np.floor(far))).astype(int))


@right
def logarithms_of_base_2(distance, n_buckets, longest):
    half = n_buckets / 2
    far = half * (1 + (distance.clamp_min(1) / half).log2() / math.log2(longest / half))
    return torch.where(distance < half, distance, far.floor().long().clamp_max(n_buckets - 1))


@wrong("The far ranges have one width")
def equal_widths(distance, n_buckets, longest):
    half = n_buckets // 2
    far = half + half * (distance - half) // (longest - half)
    return torch.where(distance < half, distance, far.clamp(half, n_buckets - 1))


@wrong("The logarithms start at distance 1")
def logarithms_from_one(distance, n_buckets, longest):
    half = n_buckets // 2
    far = half + half * distance.clamp_min(1).log() / math.log(longest)
    return torch.where(distance < half, distance, far.long().clamp_max(n_buckets - 1))


@wrong("The far ranges have all buckets to themselves")
def the_share_of_all_buckets(distance, n_buckets, longest):
    half = n_buckets // 2
    share = torch.log(distance.clamp_min(half) / half) / math.log(longest / half)
    return torch.where(distance < half, distance, (half + (n_buckets * share).int()).clamp_max(n_buckets - 1))


@wrong("Near distances are taken from the formula for far ones")
def one_formula_for_all(distance, n_buckets, longest):
    half = n_buckets // 2
    far = half + half * torch.log(distance.clamp_min(1) / half) / math.log(longest / half)
    return far.floor().long().clamp(0, n_buckets - 1)


@wrong("should be")
def doubling_whatever_the_longest(distance, n_buckets, longest):
    half = n_buckets // 2
    far = half + (distance.clamp_min(1) / half).log2().floor().long()
    return torch.where(distance < half, distance, far.clamp_max(n_buckets - 1))


wrong("It rounds to the nearest bucket")(lambda *a: bucket(*a, whole=torch.round), "rounded")
wrong("It rounds up")(lambda *a: bucket(*a, whole=torch.ceil), "rounded up")
wrong("get buckets that do not exist")(lambda *a: bucket(*a, last=-(10**6)), "no end")
wrong("The last bucket is one too many")(lambda *a: bucket(*a, last=0), "one bucket too many")
wrong("The last bucket stays empty")(lambda *a: bucket(*a, last=2), "one bucket too few")
wrong("Every distance has a bucket of its own")(lambda r, n, most: r.clamp_max(n - 1), "cut off")
wrong("A quarter of the buckets")(lambda r, n, most: bucket(r, n, most, exact=n // 4 or 1), "a quarter exact")
wrong("should be")(lambda r, n, most: bucket(r, n, most, exact=max(n // 2 - 1, 1)), "one exact too few")
wrong("should be")(lambda *a: bucket(*a, power=0.5), "roots in place of logarithms")
wrong("should be")(lambda r, n, most: bucket(r, n // 2, most), "both directions")
wrong("should be")(lambda r, n, most: bucket(r, 32, most), "32 buckets always")
wrong("should be")(lambda r, n, most: bucket(r, n, 128), "128 always")
wrong("should be")(lambda r, n, most: bucket(r, n, most + 1), "one too far")
wrong("should be")(lambda *a: bucket(*a) + 1, "counted from 1")
wrong("should be")(lambda *a: bucket(*a).clamp_min(1), "zero forgotten")
wrong("should")(lambda r, *a: bucket(r[:1] if r.dim() else r, *a), "the first row alone")
wrong("should be a tensor")(lambda *a: bucket(*a).tolist(), "a list")
wrong("should have shape")(lambda *a: bucket(*a).flatten(), "flattened")
