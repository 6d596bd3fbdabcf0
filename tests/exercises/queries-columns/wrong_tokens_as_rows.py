# expect: The output has tokens as rows
def attention_columns(q, k, v):
    return ((q.T @ k) / k.shape[0] ** 0.5).softmax(-1) @ v.T
