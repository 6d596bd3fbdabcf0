# expect: The ratios are upside down
def steps(losses, below):
    return next((step for step, loss in enumerate(losses, 1) if loss < below), len(losses))


def slowdown(train, d_k, seeds, below):
    pairs = [(train(d_k, 1.0, seed), train(d_k, d_k**-0.5, seed)) for seed in seeds]
    return [steps(scaled, below) / steps(plain, below) for plain, scaled in pairs]
