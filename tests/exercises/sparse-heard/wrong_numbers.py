# expect: It holds numbers
import torch


def heard(masks):
    reach = torch.eye(masks.shape[-1])
    for mask in masks:
        reach = ((mask.float() @ reach + reach) > 0).float()
    return reach
