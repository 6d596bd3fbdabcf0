# expect: It divides by the root of the number of keys
def attention_columns(q, k, v):
    return v @ (k.T @ q / k.shape[1] ** 0.5).softmax(0)
