# expect: ε is missing
def normed_weights(q, k, gain_q, gain_k):
    q = q / q.square().mean(-1, keepdim=True).sqrt() * gain_q
    k = k / k.square().mean(-1, keepdim=True).sqrt() * gain_k
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
