# expect: Neither running mean is corrected
import torch


def adam(p, slope, steps, rate):
    mean, square = torch.zeros_like(p), torch.zeros_like(p)
    for t in range(1, steps + 1):
        g = slope(p)
        mean = 0.9 * mean + 0.1 * g
        square = 0.999 * square + 0.001 * g**2
        p = p - rate * mean / (square.sqrt() + 1e-8)
    return p
