# expect: Keep it with probability p/p_draft otherwise
def verify(drafted, p_draft, p, u):
    for i, word in enumerate(drafted.tolist()):
        if p[i, word] < p_draft[i, word]:
            left = (p[i] - p_draft[i]).clamp(min=0)
            return i, left / left.sum()
    return len(drafted), p[-1]
