# expect: The ways are counted
import torch


def heard(masks):
    ways = torch.eye(masks.shape[-1])
    for mask in masks:
        ways = mask.float() @ ways + ways
    return ways > 0
