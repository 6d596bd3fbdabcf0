"""Adam, step by step."""

import torch

from answers import right, wrong


def adam(
    step=lambda mean, square, g: mean / (square.sqrt() + 1e-8),
    keep=(0.9, 0.999),
    mean_at=lambda mean, t: mean / (1 - 0.9**t),
    square_at=lambda square, t: square / (1 - 0.999**t),
    asked=lambda p, start: p,
):
    """Adam with another step, other running means, other corrections, or a slope asked elsewhere."""

    def does(p, slope, steps, rate):
        start, mean, square = p, torch.zeros_like(p), torch.zeros_like(p)
        for t in range(1, steps + 1):
            g = slope(asked(p, start))
            mean, square = mean.lerp(g, 1 - keep[0]), square.lerp(g * g, 1 - keep[1])
            p = p - rate * step(mean_at(mean, t), square_at(square, t), g)
        return p

    return does


def for_steps(count):
    return lambda p, slope, steps, rate: adam()(p, slope, count(steps), rate)


@right
def in_torchs_words(p, slope, steps, rate):
    mean, square = torch.zeros_like(p), torch.zeros_like(p)
    for t in range(1, steps + 1):
        g = slope(p)
        mean, square = mean.lerp(g, 0.1), square.lerp(g * g, 0.001)
        p = torch.addcdiv(p, mean / (1 - 0.9**t), (square / (1 - 0.999**t)).sqrt() + 1e-8, value=-rate)
    return p


@wrong("leaves them to torch's own optimiser. (It called step.)")
def torchs_optimizer(p, slope, steps, rate):
    trained = torch.nn.Parameter(p.clone())
    optimizer = torch.optim.Adam([trained], lr=rate)
    for _ in range(steps):
        trained.grad = slope(trained.detach())
        optimizer.step()
    return trained.detach()


@wrong("plain gradient descent")
def plain_descent(p, slope, steps, rate):
    for _ in range(steps):
        p = p - rate * slope(p)
    return p


@wrong("That is momentum")
def momentum(p, slope, steps, rate):
    velocity = torch.zeros_like(p)
    for _ in range(steps):
        velocity = 0.9 * velocity + 0.1 * slope(p)
        p = p - rate * velocity
    return p


@wrong("should be")
def corrected_in_place(p, slope, steps, rate):
    """What is corrected is carried on."""
    mean, square = torch.zeros_like(p), torch.zeros_like(p)
    for t in range(1, steps + 1):
        g = slope(p)
        mean = (0.9 * mean + 0.1 * g) / (1 - 0.9**t)
        square = (0.999 * square + 0.001 * g * g) / (1 - 0.999**t)
        p = p - rate * mean / (square.sqrt() + 1e-8)
    return p


@wrong("changed its argument p in place")
def in_place(p, slope, steps, rate):
    for _ in range(steps):
        p -= rate * slope(p)
    return p


wrong("That is momentum")(adam(lambda mean, square, g: mean), "a corrected mean alone")
wrong("It takes the sign of the slope")(adam(lambda mean, square, g: torch.sign(g)), "the sign")
wrong("The slope itself is divided by the root")(
    adam(lambda mean, square, g: g / (square.sqrt() + 1e-8)), "no running mean of the slope"
)
wrong("The root is missing")(adam(lambda mean, square, g: mean / (1e-8 + square)), "no root")
wrong("1e-8 stands under the root")(
    adam(lambda mean, square, g: mean * (square + 1e-8).rsqrt()), "under the root"
)
wrong("1e-8 is missing")(adam(lambda mean, square, g: mean * square**-0.5), "no 1e-8")
wrong("should be")(adam(lambda m, square, g: m / (square.mean().sqrt() + 1e-8)), "one square for all")
wrong("It goes up the slope")(adam(lambda mean, square, g: -mean / (square.sqrt() + 1e-8)), "upwards")

wrong("Neither running mean is corrected")(
    adam(mean_at=lambda mean, t: mean, square_at=lambda square, t: square), "no correction"
)
wrong("The mean of the slope is not corrected")(adam(mean_at=lambda mean, t: mean), "the mean as it is")
wrong("The mean of the square is not corrected")(
    adam(square_at=lambda square, t: square), "the square as it is"
)
wrong("should be")(
    adam(
        mean_at=lambda mean, t: mean / (1 - 0.9 ** max(t - 1, 1)),
        square_at=lambda square, t: square / (1 - 0.999 ** max(t - 1, 1)),
    ),
    "steps counted from zero",
)


def keeping(a, b):
    return adam(
        keep=(a, b),
        mean_at=lambda mean, t: mean / (1 - a**t),
        square_at=lambda square, t: square / (1 - b**t),
    )


wrong("have changed places")(keeping(0.999, 0.9), "0.999 and 0.9")
wrong("Both running means keep 0.9.")(keeping(0.9, 0.9), "0.9 for both")
wrong("Both running means keep 0.999.")(keeping(0.999, 0.999), "0.999 for both")

wrong("The slope is asked for once")(adam(asked=lambda p, start: start), "the first slope again and again")
wrong("one step less")(for_steps(lambda steps: len(range(1, steps))), "range(1, steps)")
wrong("one step more")(for_steps(lambda steps: len(range(steps + 1))), "range(steps + 1)")
wrong("It takes one step, whatever is asked for")(for_steps(lambda steps: 1), "one step")
wrong("trained for 250 steps: row 0")(for_steps(lambda steps: min(steps, 100)), "a hundred steps")
wrong("should be")(lambda p, *rest: adam()(p.float(), *rest), "single precision")
