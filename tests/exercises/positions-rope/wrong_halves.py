# expect: pairs entry i with entry i + d/2
def turn(t, angle):
    a, b = t.chunk(2, -1)
    return torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1)


def rotary_attention(q, k, v, base=10000.0):
    n, d = q.shape[-2:]
    angle = torch.arange(n)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    q, k = turn(q, angle), turn(k, angle)
    return (q @ k.transpose(-2, -1) / d**0.5).softmax(-1) @ v
