# expect: Only one query head for each group is left
def grouped_query(q, k, v):
    q = q[:, : k.shape[1]]
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v
