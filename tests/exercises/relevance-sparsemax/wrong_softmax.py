# expect: That is softmax
def sparsemax(z):
    return z.softmax(-1)
