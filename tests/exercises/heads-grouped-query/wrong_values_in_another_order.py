# expect: Keys and values are repeated in different orders
def grouped_query(q, k, v):
    share = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(share, -3), v.repeat(1, share, 1, 1)
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v
