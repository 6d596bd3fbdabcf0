# expect: It rounds to the nearest bucket
def buckets(distance, n_buckets, longest):
    half = n_buckets // 2
    share = (distance.clamp_min(half) / half).log() / math.log(longest / half)
    far = (half + half * share).round().long().clamp_max(n_buckets - 1)
    return torch.where(distance < half, distance, far)
