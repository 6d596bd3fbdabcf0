# expect: The scores are not scaled
def attention_columns(q, k, v):
    return v @ (k.T @ q).softmax(0)
