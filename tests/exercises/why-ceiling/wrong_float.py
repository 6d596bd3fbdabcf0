# expect: It returned a float
def ceiling(counts):
    return sum(max(t.values()) for t in counts.values()) / sum(sum(t.values()) for t in counts.values())
