# expect: It turns the values too
def turn(t, base):
    n, d = t.shape[-2:]
    angle = torch.arange(n)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    a, b = t[..., 0::2], t[..., 1::2]
    return torch.stack((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1).flatten(-2)


def rotary_attention(q, k, v, base=10000.0):
    q, k, v = turn(q, base), turn(k, base), turn(v, base)
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v
