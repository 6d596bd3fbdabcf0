# expect: the next word is drawn from p's last row
def verify(drafted, p_draft, p, u):
    for i, word in enumerate(drafted.tolist()):
        if u[i] * p_draft[i, word] >= p[i, word]:
            left = (p[i] - p_draft[i]).clamp(min=0)
            return i, left / left.sum()
    n = len(drafted)
    return n, p[max(n - 1, 0)]
