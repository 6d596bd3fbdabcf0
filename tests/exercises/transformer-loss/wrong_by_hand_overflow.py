# expect: should be 600.0, it is inf
def next_word_loss(scores, ids, real):
    powers = scores.exp()
    p = (powers / powers.sum(-1, keepdim=True))[:, :-1].gather(-1, ids[:, 1:, None])[..., 0]
    keep = real[:, 1:]
    return -p.log()[keep].mean()
