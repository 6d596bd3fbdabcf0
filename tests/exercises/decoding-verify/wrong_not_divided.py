# expect: does not sum to 1
def verify(drafted, p_draft, p, u):
    for i, word in enumerate(drafted.tolist()):
        if u[i] * p_draft[i, word] >= p[i, word]:
            return i, (p[i] - p_draft[i]).relu()
    return len(drafted), p[-1]
