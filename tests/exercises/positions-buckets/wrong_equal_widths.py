# expect: The far ranges have one width
def buckets(distance, n_buckets, longest):
    half = n_buckets // 2
    share = (distance - half) / (longest - half)
    far = (half + half * share).long().clamp(half, n_buckets - 1)
    return torch.where(distance < half, distance, far)
