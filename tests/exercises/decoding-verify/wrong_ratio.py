# expect: The ratio is upside down
def verify(drafted, p_draft, p, u):
    for i, word in enumerate(drafted.tolist()):
        if u[i] * p[i, word] >= p_draft[i, word]:
            left = (p[i] - p_draft[i]).clamp(min=0)
            return i, left / left.sum()
    return len(drafted), p[-1]
