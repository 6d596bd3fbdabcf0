# expect: It returns √n
def best_stride(n):
    return round(n**0.5)
