# expect: It returns the mean of the ratios
def steps(losses, below):
    return next((step for step, loss in enumerate(losses, 1) if loss < below), len(losses))


def slowdown(train, d_k, seeds, below):
    pairs = [(train(d_k, 1.0, seed), train(d_k, d_k**-0.5, seed)) for seed in seeds]
    return sum(steps(plain, below) / steps(scaled, below) for plain, scaled in pairs) / len(pairs)
