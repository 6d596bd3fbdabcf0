# expect: start from different seeds. Both start from the same one
def steps(losses, below):
    return next((step for step, loss in enumerate(losses, 1) if loss < below), len(losses))


def slowdown(train, d_k, seeds, below):
    pairs = [(train(d_k, 1.0, seed), train(d_k, d_k**-0.5, seed + 1)) for seed in seeds]
    return [steps(plain, below) / steps(scaled, below) for plain, scaled in pairs]
