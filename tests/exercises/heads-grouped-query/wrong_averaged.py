# expect: The key-value heads are averaged
def grouped_query(q, k, v):
    k, v = k.mean(-3, keepdim=True), v.mean(-3, keepdim=True)
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v
