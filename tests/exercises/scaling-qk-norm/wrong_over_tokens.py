# expect: The mean runs over the tokens
def normed_weights(q, k, gain_q, gain_k):
    q = q / (q.square().mean(-2, keepdim=True) + 1e-6).sqrt() * gain_q
    k = k / (k.square().mean(-2, keepdim=True) + 1e-6).sqrt() * gain_k
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
