# expect: It divides by the root of the whole width
def grouped_query(q, k, v):
    share, width = q.shape[-3] // k.shape[-3], q.shape[-3] * q.shape[-1]
    k, v = k.repeat_interleave(share, -3), v.repeat_interleave(share, -3)
    return (q @ k.transpose(-2, -1) / width**0.5).softmax(-1) @ v
