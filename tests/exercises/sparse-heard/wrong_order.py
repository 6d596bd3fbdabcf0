# expect: The layers stand in the wrong order
import torch


def heard(masks):
    reach = torch.eye(masks.shape[-1])
    for mask in masks:
        reach = ((reach @ mask.float() + reach) > 0).float()
    return reach > 0
