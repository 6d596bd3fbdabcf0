# expect: It asks whether the largest weight is in the right place
def alignment_share(weights, made):
    hits = [float(int(row.argmax()) in places) for row, places in zip(weights, made) if places]
    return torch.tensor(sum(hits) / len(hits))
