# expect: It looks at one layer after the other and joins what they open
import torch


def heard(masks):
    reach = torch.eye(masks.shape[-1], dtype=torch.bool)
    for mask in masks:
        reach = reach | mask
    return reach
