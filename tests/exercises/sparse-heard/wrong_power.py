# expect: It takes all layers alike, as the first one
import torch


def heard(masks):
    step = ((masks[0].float() + torch.eye(masks.shape[-1])) > 0).float()
    reach = torch.eye(masks.shape[-1])
    for _ in masks:
        reach = ((step @ reach) > 0).float()
    return reach > 0
