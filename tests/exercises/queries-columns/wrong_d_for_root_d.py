# expect: It divides by d_k
def attention_columns(q, k, v):
    return v @ (k.T @ q / k.shape[0]).softmax(0)
