# expect: The heads are dealt out in turn
def grouped_query(q, k, v):
    share = q.shape[-3] // k.shape[-3]
    k, v = k.repeat(1, share, 1, 1), v.repeat(1, share, 1, 1)
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v
