# expect: each counting alike
def standard_error(right, words):
    return (right / words).std() / len(words) ** 0.5
