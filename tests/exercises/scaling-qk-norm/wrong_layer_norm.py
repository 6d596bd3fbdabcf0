# expect: It takes the mean of the entries off
def normed(x, gain):
    x = x - x.mean(-1, keepdim=True)
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * gain


def normed_weights(q, k, gain_q, gain_k):
    return (normed(q, gain_q) @ normed(k, gain_k).mT / q.shape[-1] ** 0.5).softmax(-1)
