# expect: The last word of a document guesses the first of the next
def pack(documents, n):
    row = [word for document in documents for word in document]
    places = [at for document in documents for at in range(len(document))]
    owner = [at for at, document in enumerate(documents) for _ in document]
    owner = torch.tensor(owner + [-1] * (n - len(row)))
    words = torch.tensor(row + [0] * (n - len(row)))
    guesses = torch.tensor(row[1:] + [-100] * (n - len(row) + 1))
    mask = torch.ones(n, n).tril().bool() & (owner[:, None] == owner) & (owner >= 0)
    return words, torch.tensor(places + [0] * (n - len(row))), guesses, mask
