# expect: stands a table with n² entries
from attnlab import attention, masks


def block_window(q, k, v, w):
    return attention(q, k, v, mask=masks.window(q.shape[-2], w, 0))
