# expect: It gives everything to the largest score
def sparsemax(z):
    return torch.nn.functional.one_hot(z.argmax(-1), z.shape[-1]).float()
