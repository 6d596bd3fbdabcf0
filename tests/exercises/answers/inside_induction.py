"""How much each head looks at what came after a piece when it stood there last."""

import torch

from answers import right, wrong


def latest(ids, i):
    return max((j for j in range(i) if ids[j] == ids[i]), default=None)


def induction(
    weights, ids, *, look=lambda w, i, j: w[:, i, j + 1], last=latest, some=lambda ids, i, j: True, empty=0.0
):
    """Right; or with something changed: `look` takes the row and the place where the piece stood."""
    pairs = [
        (i, j) for i, j in ((i, last(ids, i)) for i in range(len(ids))) if j is not None and some(ids, i, j)
    ]
    return (
        torch.stack([look(weights, *pair) for pair in pairs]).mean(0)
        if pairs
        else weights[:, 0, 0] * 0 + empty
    )


def comes_back(ids):
    return len(set(ids)) < len(ids)


def by_notes(weights, ids, is_there=lambda place: place is not None, notes=dict):
    last, rows = notes(), []
    for i, piece in enumerate(ids):
        if is_there(last[piece] if isinstance(last, list) else last.get(piece)):
            rows.append(weights[:, i, last[piece] + 1])
        last[piece] = i
    return torch.stack(rows).mean(0) if rows else weights.new_zeros(len(weights))


right(induction, "a search backwards")
right(by_notes, "notes")
right(lambda w, ids: by_notes(w, ids, notes=lambda: [None] * (max(ids) + 1)), "a table of as many as needed")


@right
def a_matrix_of_equal_pieces(weights, ids):
    n = len(ids)
    same = torch.tensor([[ids[j] == ids[i] and j < i for j in range(n)] for i in range(n)])
    rows = same.any(1)
    if not rows.any():
        return weights.new_zeros(len(weights))
    at = torch.where(same, torch.arange(n), -1).amax(1)[rows]
    return weights[:, rows.nonzero()[:, 0], at + 1].mean(-1)


@right
def added_up(weights, ids):
    total, count = torch.zeros_like(weights[:, 0, 0]), 0
    for i in range(len(ids)):
        for j in range(i - 1, -1, -1):
            if ids[i] == ids[j]:
                total, count = total + weights[:, i, j + 1], count + 1
                break
    return total / max(count, 1)


@wrong("nothing comes back")
def no_case_for_nothing(weights, ids):
    last, found = {}, []
    for i, token in enumerate(ids):
        if token in last:
            found.append(weights[:, i, last[token] + 1])
        last[token] = i
    return torch.stack(found).mean(0)


@wrong("It divides by all pieces")
def over_all_pieces(weights, ids):
    last, total = {}, torch.zeros_like(weights[:, 0, 0])
    for i, token in enumerate(ids):
        if token in last:
            total = total + weights[:, i, last[token] + 1]
        last[token] = i
    return total / len(ids)


@wrong("Look a piece up *before*")
def noted_before_it_is_looked_up(weights, ids):
    last, total = {}, torch.zeros_like(weights[:, 0, 0])
    for i, token in enumerate(ids):
        last[token] = i
        if last[token] != i:
            total = total + weights[:, i, last[token] + 1]
    return total


@wrong("different distances")
def the_first_return_sets_the_period(weights, ids):
    periods = (i - ids.index(piece) for i, piece in enumerate(ids) if piece in ids[:i])
    period = next(periods, None)
    return weights[:, 0, 0] * 0 if period is None else weights.diagonal(1 - period, -2, -1)[:, 1:].mean(-1)


@wrong("should be")
def the_largest_of_all_earlier_places(weights, ids):
    def largest(w, i, j):
        return torch.stack([w[:, i, j + 1] for j in range(i) if ids[j] == ids[i]]).amax(0)

    return induction(weights, ids, look=largest)


@wrong("should be")
def a_mean_of_each_piece(weights, ids):
    kinds = {piece for i, piece in enumerate(ids) if piece in ids[:i]}
    found = [
        induction(weights, ids, some=lambda ids, i, j, kind=kind: ids[i] == kind) for kind in sorted(kinds)
    ]
    return torch.stack(found or [weights[:, 0, 0] * 0]).mean(0)


wrong("This is the weight on the earlier place of the same piece")(
    lambda *a: induction(*a, look=lambda w, i, j: w[:, i, j]), "the same piece"
)
wrong("on what came *before* the piece")(
    lambda *a: induction(*a, look=lambda w, i, j: w[:, i, max(0, j - 1)]), "what came before"
)
wrong("the piece right before it")(
    lambda *a: induction(*a, look=lambda w, i, j: w[:, i, i - 1]), "the piece before"
)
wrong("Row and column have changed places")(
    lambda *a: induction(*a, look=lambda w, i, j: w[:, j + 1, i]), "rows for columns"
)
wrong("should be")(
    lambda *a: induction(*a, look=lambda w, i, j: w[:, i, min(j + 1, i - 1)]), "never the token itself"
)
wrong("should be")(lambda *a: induction(*a, look=lambda w, i, j: w[:, i - 1, j + 1]), "a row too early")
wrong("It adds up all earlier places")(
    lambda w, ids: induction(
        w, ids, look=lambda w, i, j: sum(w[:, i, j + 1] for j in range(i) if ids[j] == ids[i])
    ),
    "all earlier places",
)
wrong("Of several earlier places it takes the first")(
    lambda *a: induction(*a, last=lambda ids, i: ids.index(ids[i]) if ids[i] in ids[:i] else None),
    "the first place",
)
wrong("This is a sum")(
    lambda w, ids: induction(w, ids) * sum(piece in ids[:i] for i, piece in enumerate(ids)), "a sum"
)
wrong("The heads are averaged")(lambda *a: induction(*a).mean(), "heads averaged")
wrong("0 is a place")(lambda *a: by_notes(*a, bool), "place 0 is none")
wrong("raised IndexError")(lambda *a: by_notes(*a, notes=lambda: [None] * 100), "a table of 100 pieces")
wrong("Equal numbers are the same piece")(
    lambda *a: induction(
        *a, last=lambda ids, i: max((j for j in range(i) if ids[j] is ids[i]), default=None)
    ),
    "the same object",
)
wrong("Equal numbers are the same piece")(
    lambda w, ids: induction(w, [x % 2**16 for x in ids]), "the last 16 bits"
)
wrong("raised ValueError")(lambda w, ids: induction(w, bytes(ids)), "as bytes")
wrong("however far apart")(
    lambda *a: induction(*a, some=lambda ids, i, j: i - j <= 9), "not farther back than nine"
)
wrong("should be")(lambda *a: induction(*a, some=lambda ids, i, j: i - j > 1), "not twice in a row")
wrong("should be")(
    lambda *a: induction(*a, some=lambda ids, i, j: ids[i] not in ids[i + 1 :]), "each token once"
)
wrong("should be")(
    lambda *a: induction(*a, some=lambda ids, i, j: ids[i + 1 : i + 2] == ids[j + 1 : j + 2]),
    "where it came true",
)
wrong("should be")(
    lambda w, ids: induction(w[:, :-1, :-1], ids[:-1]) if len(ids) > 1 else induction(w, ids),
    "not the last piece",
)
wrong("should be")(
    lambda w, ids: w.diagonal(1 - max(len(ids) // 2, 1), -2, -1)[:, 1:].mean(-1),
    "half of the text is a round",
)
wrong("nothing comes back")(lambda *a: induction(*a, empty=float("nan")), "NaN where nothing comes back")
wrong("should be a tensor")(
    lambda w, ids: induction(w, ids) if comes_back(ids) else [], "an empty list for none"
)
wrong("should keep that dtype")(
    lambda w, ids: induction(w, ids) if comes_back(ids) else torch.zeros(len(w)), "zeros in single precision"
)
wrong("should have shape")(lambda *a: induction(*a)[:1], "the first head")
wrong("should be a tensor")(lambda *a: 0, "a number")
wrong("no gradient reaches weights")(lambda w, ids: induction(w.detach(), ids), "detached")
