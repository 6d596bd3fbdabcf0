# expect: All query heads use the first key-value head
def grouped_query(q, k, v):
    k, v = k[:, :1], v[:, :1]
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v
