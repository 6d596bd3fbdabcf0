# expect: The logarithms start at distance 1
def buckets(distance, n_buckets, longest):
    half = n_buckets // 2
    share = distance.clamp_min(1).log() / math.log(longest)
    far = (half + half * share).long().clamp_max(n_buckets - 1)
    return torch.where(distance < half, distance, far)
