# expect: It subtracts the mean. Rows that span far still overflow
def softmax(scores):
    e = (scores - scores.mean(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)
