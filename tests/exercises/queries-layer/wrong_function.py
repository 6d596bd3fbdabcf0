# expect: should make a torch.nn.Module
def Head(d_model, d_memory, d_k, d_v):
    return lambda x, memory=None: x
