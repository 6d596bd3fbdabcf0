# expect: get buckets that do not exist
def buckets(distance, n_buckets, longest):
    half = n_buckets // 2
    share = (distance.clamp_min(half) / half).log() / math.log(longest / half)
    far = (half + half * share).long()
    return torch.where(distance < half, distance, far)
