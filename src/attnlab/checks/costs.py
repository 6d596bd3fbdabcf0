"""Exercises on what attention costs: multiplications, and the bytes of a step of decoding."""

from __future__ import annotations

from attnlab.checks.exercise import case, exercise, mistake


def multiplications(n: int, d_model: int, n_heads: int) -> int:
    """The reference."""
    return 4 * n * d_model**2 + 2 * n * n * d_model


def _layers(*sizes: tuple[int, int, int]) -> list:
    return [
        case(f"n = {n}, d_model = {d}, {h} {'head' if h == 1 else 'heads'}", n=n, d_model=d, n_heads=h)
        for n, d, h in sizes
    ]


exercise(
    "costs-count",
    "multiplications",
    reference=multiplications,
    cases=_layers((7, 20, 5), (512, 64, 8), (3, 10, 5), (1, 12, 4), (9, 6, 1), (30, 8, 8), (100, 48, 16)),
    mistakes=[
        mistake("The attention itself is missing: scores, and the weighted sum of the values.", lambda n, d, h: 4 * n * d * d),
        mistake("The four projections are missing, n · d_model² each.", lambda n, d, h: 2 * n * n * d),
        mistake(
            "Scores cost n² · d_model, and the weighted sum of the values as much again.",
            lambda n, d, h: 4 * n * d * d + n * n * d,
        ),
        mistake("There are four projections: the output has one too.", lambda n, d, h: 3 * n * d * d + 2 * n * n * d),
        mistake(
            "There are four projections: for queries, keys, values and the output.",
            lambda n, d, h: n * d * d + 2 * n * n * d,
        ),
        mistake(
            "Each head is only d_model / n_heads wide: all heads together cost n² · d_model.",
            lambda n, d, h: 4 * n * d * d + 2 * n * n * d * h,
        ),
        mistake(
            "That is the attention of one head: there are n_heads of them.",
            lambda n, d, h: 4 * n * d * d + 2 * n * n * (d // h),
        ),
        mistake(
            "Count multiplications. An addition goes with each, but is not asked for.",
            lambda n, d, h: 8 * n * d * d + 4 * n * n * d,
        ),
        *(
            mistake("Each projection maps d_model to d_model numbers, all heads together.", does)
            for does in (
                lambda n, d, h: 4 * n * (d // h) ** 2 + 2 * n * n * d,
                lambda n, d, h: 4 * n * d * (d // h) + 2 * n * n * d,
            )
        ),
        mistake(
            "A projection makes the queries of all heads at once: it does not come once for each head.",
            lambda n, d, h: 4 * n * d * d * h + 2 * n * n * d,
        ),
        mistake("Every token goes through the projections, n of them.", lambda n, d, h: 4 * d * d + 2 * n * n * d),
        mistake("Every token asks every token: n² pairs, not n.", lambda n, d, h: 4 * n * d * d + 2 * n * d),
        mistake(
            "A pair of tokens costs a sum over the width, for its score and again for its value.",
            lambda n, d, h: 4 * n * d * d + 2 * n * n,
        ),
        mistake(
            "Nothing is hidden here: every token asks every token, later ones too.",
            lambda n, d, h: 4 * n * d * d + n * (n + 1) * d,
        ),
        mistake(
            "The feed-forward block is another layer: only attention and its projections are asked for.",
            lambda n, d, h: 12 * n * d * d + 2 * n * n * d,
        ),
        mistake(
            "The softmax is not asked for, nor the division by √d_head.",
            lambda n, d, h: 4 * n * d * d + 2 * n * n * d + h * n * n,
        ),
        mistake(
            "A bias is added, not multiplied.",
            lambda n, d, h: 4 * n * (d * d + d) + 2 * n * n * d,
        ),
    ],
    praise="4 n d² + 2 n² d, whatever the number of heads.",
)  # fmt: skip


def _intensity(n: int, n_heads: int, n_kv_heads: int, d_head: int, bytes_per_number: float) -> float:
    """The reference."""
    return (4 * n * n_heads * d_head) / (2 * n * n_kv_heads * d_head * bytes_per_number)


def _steps(*sizes: tuple[int, int, int, int, float]) -> list:
    return [
        case(
            f"{n} {'token' if n == 1 else 'tokens'}, {h} query heads, {k} key-value heads, d_head = {d} and "
            f"{b} bytes a number",
            n=n,
            n_heads=h,
            n_kv_heads=k,
            d_head=d,
            bytes_per_number=b,
        )
        for n, h, k, d, b in sizes
    ]


exercise(
    "costs-intensity",
    "intensity",
    reference=_intensity,
    cases=[
        *_steps((1000, 15, 3, 64, 4), (4096, 32, 8, 128, 2), (50, 6, 1, 16, 4), (1, 12, 12, 32, 2)),
        *_steps((300, 40, 8, 96, 0.5625), (77, 10, 4, 24, 1), (2048, 71, 1, 64, 8)),
    ],
    mistakes=[
        mistake("It is upside down: operations for each byte, not bytes for each operation.", lambda n, h, k, d, b: k * b / (2 * h)),
        mistake("Each number of the cache is multiplied and added: that is two operations.", lambda n, h, k, d, b: h / (k * b)),
        mistake(
            "Keys and values are both read, and each takes part in one product: twice the work, twice the bytes.",
            lambda n, h, k, d, b: 4 * h / (k * b),
        ),
        mistake(
            "Only n_kv_heads keys and values are stored and read: query heads of a group share them.",
            lambda n, h, k, d, b: 2 / b,
        ),
        mistake("Divide by bytes, not by numbers.", lambda n, h, k, d, b: 2 * h / k),
        mistake("Divide by the bytes of a number: more of them mean fewer operations for each.", lambda n, h, k, d, b: 2 * h * b / k),
        mistake("bytes_per_number is in bytes already, not in bits.", lambda n, h, k, d, b: h / (4 * k * b)),
        mistake("The heads have changed places: queries do the work, keys and values are read.", lambda n, h, k, d, b: 2 * k / (h * b)),
        mistake("n_kv_heads keys and values are read, not one.", lambda n, h, k, d, b: 2 * h / b),
        mistake("Every query head works with what is read, n_heads of them.", lambda n, h, k, d, b: 2 / (k * b)),
        mistake("There is one new token, so one query in each head, not n.", lambda n, h, k, d, b: 2 * n * h / (k * b)),
        mistake("Those are the operations. Divide them by the bytes that are read.", lambda n, h, k, d, b: 4 * n * h * d),
        mistake("Those are the bytes that are read. How many operations come for each?", lambda n, h, k, d, b: 2 * n * k * d * b),
        mistake("// drops what is behind the point. Divide with /.", lambda n, h, k, d, b: 4 * n * h * d // (2 * n * k * d * b)),
        mistake("n_heads // n_kv_heads drops what is behind the point. Divide with /.", lambda n, h, k, d, b: 2 * (h // k) / b),
        mistake(
            "The softmax is left out here: count the scores and the weighted sum.",
            lambda n, h, k, d, b: (4 * n * h * d + 3 * n * h) / (2 * n * k * d * b),
        ),
        mistake(
            "Only the cache is asked for, not the query and the output.",
            lambda n, h, k, d, b: 4 * n * h * d / (2 * n * k * d * b + 2 * h * d * b),
        ),
    ],
    praise="2 n_heads / (n_kv_heads · bytes), at any length and width.",
)  # fmt: skip


def _caches(*sizes: tuple[int, int, int, int]) -> list:
    return [
        case(
            f"{batch} {'sequence' if batch == 1 else 'sequences'} of {n} {'token' if n == 1 else 'tokens'}, "
            f"{w:,} bytes of weights and {t:,} bytes a token",
            n=n,
            batch=batch,
            weight_bytes=w,
            token_bytes=t,
        )
        for n, batch, w, t in sizes
    ]


exercise(
    "costs-win",
    "most_to_win",
    reference=lambda n, batch, weight_bytes, token_bytes: 1 + batch * n * token_bytes / weight_bytes,
    cases=[
        *_caches((1000, 4, 20_000_000, 1500), (8192, 16, 3_000_000_000, 131_072), (10, 1, 700, 350)),
        *_caches((1, 3, 40, 7), (2000, 64, 1_000_000, 4096), (5, 2, 300_000, 11)),
    ],
    mistakes=[
        mistake(
            "The weights are read once for all sequences, but each sequence has a cache of its own.",
            lambda n, batch, w, t: 1 + n * t / w,
        ),
        mistake("The weights are read once for all sequences, not once for each.", lambda n, batch, w, t: batch + batch * n * t / w),
        mistake("Every token is in the cache, n of them in each sequence.", lambda n, batch, w, t: 1 + batch * t / w),
        mistake("Each of batch sequences has n tokens: batch · n of them.", lambda n, batch, w, t: 1 + (batch + n) * t / w),
        *(
            mistake("That is the share of the cache. By what factor does a step become faster when it is gone?", does)
            for does in (
                lambda n, batch, w, t: batch * n * t / (w + batch * n * t),
                lambda n, batch, w, t: 100 * batch * n * t / (w + batch * n * t),
            )
        ),
        mistake(
            "That is the share of the weights, which remains. The factor is all of it over what remains.",
            lambda n, batch, w, t: w / (w + batch * n * t),
        ),
        mistake(
            "The whole has the weights in it too: divide weights and caches by weights.",
            lambda n, batch, w, t: batch * n * t / w,
        ),
        mistake(
            "It is the cache that costs nothing, not the weights: divide by what remains.",
            lambda n, batch, w, t: 1 + w / (batch * n * t),
        ),
        mistake(
            "Those are the bytes of a step. Divide them by the bytes that remain without the cache.",
            lambda n, batch, w, t: w + batch * n * t,
        ),
        mistake("token_bytes has the key and the value of a token already.", lambda n, batch, w, t: 1 + 2 * batch * n * t / w),
        mistake("// drops what is behind the point. Divide with /.", lambda n, batch, w, t: 1 + batch * n * t // w),
        mistake("One new token reads its cache once: bytes grow with n, not with n².", lambda n, batch, w, t: 1 + batch * n * n * t / w),
    ],
    praise="1 + caches / weights: little cache, little to win.",
)  # fmt: skip
