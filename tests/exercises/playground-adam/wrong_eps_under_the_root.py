# expect: under the root
import torch


def adam(p, slope, steps, rate):
    mean, square = torch.zeros_like(p), torch.zeros_like(p)
    for t in range(1, steps + 1):
        g = slope(p)
        mean = 0.9 * mean + 0.1 * g
        square = 0.999 * square + 0.001 * g**2
        p = p - rate * mean / (1 - 0.9**t) / (square / (1 - 0.999**t) + 1e-8).sqrt()
    return p
