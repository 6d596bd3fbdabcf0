# expect: Of its own block a token sees later tokens
import torch

from attnlab import attention


def routed(q, k, v, size, top):
    n = q.shape[-2]
    place = torch.arange(n)
    block, blocks = place // size, n // size
    means = k.unflatten(-2, (blocks, size)).mean(-2)
    earlier = torch.arange(blocks) < block[:, None]
    scores = (q @ means.mT).masked_fill(~earlier, -torch.inf)
    best = scores.topk(min(top, blocks)).indices
    chosen = torch.zeros_like(scores).scatter(-1, best, 1.0) > 0
    near = block[:, None] == block
    return attention(q, k, v, mask=(chosen & earlier)[..., block] | near)
