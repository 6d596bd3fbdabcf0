# expect: It takes `heard` for the temperature
def hear(s, heard):
    return (s / heard).softmax(-1)
