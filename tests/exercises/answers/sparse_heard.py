"""Who has heard of whom, after layers that each have a mask of their own."""

import numpy as np
import torch

from answers import right, wrong


def yes(x):
    return (x > 0).float()


def eye(masks, dtype=torch.float32):
    return torch.eye(masks.shape[-1], dtype=dtype)


def in_turn(product, start=eye, end=lambda reach: reach > 0):
    """Go through the layers; `product` takes a mask in numbers and what was heard."""

    def heard(masks):
        reach = start(masks)
        for mask in masks:
            reach = product(mask.float(), reach)
        return end(reach)

    return heard


def further(mask, reach):
    return yes(mask @ reach + reach)


heard = right(in_turn(further), "yes or no after each product")
right(in_turn(lambda mask, reach: (mask @ reach + reach).clamp(max=1)), "clamped")


@right
def and_or(masks):
    reach = eye(masks) > 0
    for mask in masks:
        reach = reach | (mask[:, :, None] & reach).any(1)
    return reach


@right
def einsum(masks):
    reach = eye(masks) > 0
    for mask in masks.unbind():
        reach = reach | (torch.einsum("ik,kj->ij", mask.int(), reach.int()) > 0)
    return reach


@right
def rows_gathered(masks):
    reach = eye(masks) > 0
    for mask in masks:
        reach = torch.stack([mine | reach[sees].any(0) for mine, sees in zip(reach, mask, strict=True)])
    return reach


@right
def sets(masks):
    of = [{i} for i in range(masks.shape[-1])]
    for mask in masks.tolist():
        rows = zip(mask, of, strict=True)
        of = [mine.union(*(of[k] for k, sees in enumerate(row) if sees)) for row, mine in rows]
    return torch.tensor([[j in mine for j in range(len(of))] for mine in of])


@right
def in_numpy(masks):
    reach = np.eye(masks.shape[-1], dtype=bool)
    for mask in masks.numpy():
        reach = reach | (mask.astype(float) @ reach > 0)
    return torch.from_numpy(reach)


@right
def from_the_last_layer_on(masks):
    """Ask whom the answer can come from."""
    wants = eye(masks)
    for mask in masks.flip(0):
        wants = yes(wants @ (mask.float() + eye(masks)))
    return wants > 0


@wrong("It looks at one layer after the other and joins what they open")
def joined(masks):
    reach = eye(masks) > 0
    for mask in masks:
        reach = reach | mask
    return reach


@wrong("It takes all layers alike, as the first one")
def a_power_of_the_first(masks):
    step = yes(masks[0] + eye(masks))
    return torch.linalg.matrix_power(step.double(), min(len(masks), 12)) > 0


@wrong("A layer that adds nothing says nothing of the next")
def until_nothing_is_new(masks):
    reach = eye(masks)
    for mask in masks:
        now = further(mask.float(), reach)
        if now.equal(reach):
            break
        reach = now
    return reach > 0


@wrong("it changed its argument masks in place")
def in_place(masks):
    masks |= eye(masks) > 0
    return and_or(masks)


def ways(dtype):
    return in_turn(lambda mask, reach: mask.to(dtype) @ reach + reach, lambda masks: eye(masks, dtype))


wrong("The ways are counted")(ways(torch.float32), "ways counted")
wrong("The ways are counted")(ways(torch.float64), "ways in float64")
wrong("The ways are counted")(ways(torch.int64), "ways in whole numbers")
wrong("256 ways are none in eight bits")(
    in_turn(lambda mask, reach: yes(mask.byte() @ reach.byte()) + reach), "yes or no in eight bits"
)
wrong("the share of a long one vanishes")(
    in_turn(
        lambda mask, reach: torch.nn.functional.normalize(mask.double() + torch.eye(len(mask)), p=1) @ reach,
        start=lambda masks: eye(masks, torch.float64),
    ),
    "shares",
)
wrong("should be")(
    in_turn(lambda mask, reach: (mask @ reach + reach) / (mask.sum(1, keepdim=True) + 1)),
    "at least half a way",
)
wrong("What a token has heard stays with it")(
    in_turn(lambda mask, reach: yes(mask @ reach)), "nothing kept of one's own"
)
wrong("should be")(
    in_turn(lambda mask, reach: yes(mask @ reach), end=lambda reach: reach + torch.eye(len(reach)) > 0),
    "the diagonal at the end",
)
wrong("The layers stand in the wrong order")(
    in_turn(lambda mask, reach: yes(reach @ mask + reach)), "to the right"
)
wrong("as the last one")(
    lambda masks: heard(masks[-1:].repeat(len(masks), 1, 1)), "the last layer over and over"
)
wrong("The first layer is missing")(lambda masks: heard(masks[1:]), "not the first layer")
wrong("The last layer is missing")(lambda masks: heard(masks[:-1]), "not the last layer")
wrong("That multiplies entry by entry")(in_turn(torch.mul, start=lambda masks: 1.0), "a product of entries")
wrong("should be")(in_turn(lambda mask, reach: yes(mask * reach + reach)), "entry by entry")
wrong("It is transposed")(lambda masks: heard(masks).T, "transposed")
wrong("The masks are transposed")(in_turn(lambda mask, reach: further(mask.T, reach)), "masks transposed")
wrong("Begin with the identity")(in_turn(further, start=lambda masks: 0 * eye(masks)), "from nothing")
wrong("a token has heard of itself alone")(lambda masks: torch.ones_like(masks[0]), "all")
wrong("should be")(lambda masks: masks[-1], "the last layer alone")
wrong("not implemented for 'Bool'")(lambda masks: masks[0] @ masks[-1], "boolean @ boolean")
wrong("should be")(lambda masks: heard(masks[:5]), "five layers at most")
wrong("It holds numbers")(in_turn(further, end=lambda reach: reach), "numbers")
wrong("should be a tensor")(lambda masks: heard(masks).tolist(), "a list")
