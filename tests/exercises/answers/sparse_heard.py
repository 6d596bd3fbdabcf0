"""Of whom each token has heard after several layers, each with a mask of its own."""

import numpy as np
import torch

from answers import right, wrong


def yes(x):
    return (x > 0).float()


def in_turn(product, start=torch.eye, end=lambda reach: reach > 0):
    """Go through the layers; `product` takes a mask in numbers and what was heard."""

    def heard(masks):
        reach = start(masks.shape[-1])
        for mask in masks:
            reach = product(mask.float(), reach)
        return end(reach)

    return heard


@right
def and_or(masks):
    reach = torch.eye(masks.shape[-1], dtype=torch.bool)
    for mask in masks:
        reach = reach | (mask[:, :, None] & reach).any(1)
    return reach


@right
def by_einsum(masks):
    reach = torch.eye(masks.shape[-1], dtype=torch.bool)
    for mask in masks.unbind():
        reach = reach | (torch.einsum("ik,kj->ij", mask.int(), reach.int()) > 0)
    return reach


def by_sets(masks, start=lambda i: {i}):
    of = [start(i) for i in range(masks.shape[-1])]
    for mask in masks.tolist():
        of = [
            mine.union(*(of[k] for k, sees in enumerate(row) if sees))
            for row, mine in zip(mask, of, strict=True)
        ]
    return torch.tensor([[j in mine for j in range(len(of))] for mine in of])


right(by_sets)


@right
def by_numpy(masks):
    reach = np.eye(masks.shape[-1], dtype=bool)
    for mask in masks.numpy():
        reach = reach | (mask.astype(float) @ reach > 0)
    return torch.from_numpy(reach)


@right
def from_the_last_layer_on(masks):
    """Ask whom the answer can come from."""
    n = masks.shape[-1]
    wants = torch.eye(n)
    for mask in masks.flip(0):
        wants = yes(wants @ (mask.float() + torch.eye(n)))
    return wants > 0


@right
def rows_gathered(masks):
    reach = torch.eye(masks.shape[-1], dtype=torch.bool)
    for mask in masks:
        reach = torch.stack([mine | reach[sees].any(0) for mine, sees in zip(reach, mask, strict=True)])
    return reach


right(in_turn(lambda m, r: (m @ r + r).clamp(max=1), end=torch.Tensor.bool), "clamped")

# From layer to layer.
wrong("The layers stand in the wrong order")(in_turn(lambda m, r: yes(r @ m + r)), "the other way round")
wrong("What a token has heard stays with it")(
    lambda masks: in_turn(lambda m, r: yes(m @ r), lambda n: masks[0].float())(masks[1:]), "forgotten"
)
wrong("should be")(
    in_turn(lambda m, r: yes(m @ r), end=lambda r: (r + torch.eye(len(r))) > 0), "the diagonal at the end"
)
wrong("It looks at one layer after the other and joins what they open")(
    lambda masks: torch.stack([*masks, torch.eye(masks.shape[-1])]).amax(0) > 0, "joined"
)
wrong("That multiplies entry by entry")(lambda masks: masks.float().prod(0) > 0, "entry by entry")
wrong("should be")(in_turn(lambda m, r: yes(m * r + r)), "entry by entry, and the identity")
wrong("not implemented for 'Bool'")(lambda masks: masks[0] @ masks[-1], "boolean @ boolean")
wrong("The masks are transposed")(in_turn(lambda m, r: yes(m.T @ r + r)), "masks transposed")
wrong("It is transposed")(in_turn(lambda m, r: yes(r @ m.T + r)), "transposed, and the other way round")


@wrong("A layer that adds nothing says nothing of the next")
def until_nothing_is_new(masks):
    reach = torch.eye(masks.shape[-1])
    for mask in masks:
        further = yes(mask.float() @ reach + reach)
        if further.equal(reach):
            break
        reach = further
    return reach > 0


def alike(which):
    """One mask for all layers."""

    def heard(masks):
        step, reach = masks[which] | torch.eye(masks.shape[-1]).bool(), torch.eye(masks.shape[-1])
        for _ in masks:
            reach = yes(step.float() @ reach)
        return reach > 0

    return heard


wrong("It takes all layers alike, as the first one")(alike(0), "the first mask for all")
wrong("It takes all layers alike, as the last one")(alike(-1), "the last mask for all")
wrong("The first layer is missing")(lambda masks: and_or(masks[1:]), "the first layer missing")
wrong("The last layer is missing")(lambda masks: and_or(masks[:-1]), "the last layer missing")
wrong("should be")(lambda masks: and_or(masks[:5]), "five layers at most")
wrong("should be")(lambda masks: masks[-1], "the last mask")
wrong("Begin with the identity")(lambda masks: by_sets(masks, lambda i: set()), "a start from nothing")
wrong("Before the first layer a token has heard of itself alone")(
    lambda masks: torch.ones_like(masks[0]), "all of all"
)


# Numbers where yes or no is asked.
def ways(dtype):
    """Their number is asked for its sign in the end."""

    def heard(masks):
        n = masks.shape[-1]
        number = torch.eye(n, dtype=dtype)
        for mask in masks:
            number = number + mask.to(dtype).matmul(number)
        return number > 0

    return heard


for each in (torch.uint8, torch.int8, torch.int64, torch.half, torch.float, torch.double):
    wrong("The ways are counted")(ways(each), f"ways in {each}")
wrong("should be")(
    in_turn(lambda m, r: yes(m + torch.eye(len(m))).double() @ r, lambda n: torch.eye(n).double()),
    "ways with the diagonal",
)
wrong("should be")(
    in_turn(lambda m, r: (m @ r + r) / (m.sum(1, keepdim=True) + 1)), "a mean over what is heard, in single"
)
wrong("It averages over the ways")(
    in_turn(
        lambda m, r: torch.nn.functional.normalize(m.double() + torch.eye(len(m)), p=1, dim=1) @ r,
        lambda n: torch.eye(n).double(),
    ),
    "a mean over what is heard",
)
wrong("256 ways are none in eight bits")(
    in_turn(lambda m, r: yes(m.byte() @ r.byte()) + r), "yes or no in eight bits"
)

# What is returned.
wrong("It holds numbers")(in_turn(lambda m, r: yes(m @ r + r), end=lambda r: r), "numbers")
wrong("should be a tensor")(lambda masks: and_or(masks).tolist(), "a list")


@wrong("it changed its argument masks in place")
def in_place(masks):
    masks |= torch.eye(masks.shape[-1], dtype=torch.bool)
    return and_or(masks)


KEPT = {}
wrong("should be")(lambda masks: KEPT.setdefault(masks.shape, and_or(masks)), "remembered by its shape")
