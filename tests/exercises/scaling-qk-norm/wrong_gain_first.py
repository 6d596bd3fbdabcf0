# expect: The gain comes before the norm
def normed_weights(q, k, gain_q, gain_k):
    q, k = q * gain_q, k * gain_k
    q = q / (q.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    k = k / (k.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
