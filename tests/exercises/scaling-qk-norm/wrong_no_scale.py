# expect: The scale is missing
def normed_weights(q, k, gain_q, gain_k):
    q = torch.nn.functional.rms_norm(q, gain_q.shape, gain_q, 1e-6)
    k = torch.nn.functional.rms_norm(k, gain_k.shape, gain_k, 1e-6)
    return (q @ k.mT).softmax(-1)
