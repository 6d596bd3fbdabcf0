# expect: Every distance has a bucket of its own
def buckets(distance, n_buckets, longest):
    return distance.clamp_max(n_buckets - 1)
