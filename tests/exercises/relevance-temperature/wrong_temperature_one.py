# expect: That is the softmax at temperature 1
def hear(s, heard):
    return s.softmax(-1)
