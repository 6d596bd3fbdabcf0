# expect: The places run on through the row
def pack(documents, n):
    words = torch.zeros(n, dtype=torch.long)
    places, guesses, owner, start = words.clone(), words - 100, words - 1, 0
    for number, document in enumerate(documents):
        end = start + len(document)
        words[start:end] = torch.tensor(document)
        places[start:end] = torch.arange(start, end)
        guesses[start : end - 1] = words[start + 1 : end]
        owner[start:end] = number
        start = end
    past = torch.ones(n, n).tril().bool()
    return words, places, guesses, past & (owner[:, None] == owner) & (owner >= 0)
