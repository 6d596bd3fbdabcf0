# expect: The softmax runs along the rows
def attention_columns(q, k, v):
    return v @ (k.T @ q / k.shape[0] ** 0.5).softmax(1)
