# expect: What the draft already covers must come off
def verify(drafted, p_draft, p, u):
    for i, word in enumerate(drafted.tolist()):
        if u[i] * p_draft[i, word] >= p[i, word]:
            return i, p[i]
    return len(drafted), p[-1]
