# expect: Every token sees the whole text
def causal_linear(q, k, v):
    return (q @ (k.mT @ v)) / (q @ k.sum(-2, keepdim=True).mT)
