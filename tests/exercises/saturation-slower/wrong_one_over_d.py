# expect: It scales by 1/d_k
def steps(losses, below):
    return next((step for step, loss in enumerate(losses, 1) if loss < below), len(losses))


def slowdown(train, d_k, seeds, below):
    pairs = [(train(d_k, 1.0, seed), train(d_k, 1 / d_k, seed)) for seed in seeds]
    return [steps(plain, below) / steps(scaled, below) for plain, scaled in pairs]
