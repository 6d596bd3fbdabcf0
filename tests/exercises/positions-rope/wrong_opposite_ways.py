# expect: turn opposite ways
def turn(t, angle):
    a, b = t[..., 0::2], t[..., 1::2]
    return torch.stack((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1).flatten(-2)


def rotary_attention(q, k, v, base=10000.0):
    n, d = q.shape[-2:]
    angle = torch.arange(n)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    q, k = turn(q, angle), turn(k, -angle)
    return (q @ k.transpose(-2, -1) / d**0.5).softmax(-1) @ v
