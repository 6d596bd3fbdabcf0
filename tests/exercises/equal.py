"""What the machines may not hold against a checker: changes that change nothing, each with its reason.

EQUAL: by exercise, the changed statement of a mutant that may be equal, as `machines.py NAME` prints it, and why.
    The reason is mathematics, or a statement that leaves the choice to the reader; rounding is none.
LEADING: by exercise, the arguments that may have leading dimensions, by place, and how many are their own.
STYLES: by exercise, the rewritings that do not apply, and why.
"""

EQUAL: dict[str, dict[str, str]] = {
    "costs-online": {
        "new = torch.maximum(s.max(), largest)": "The larger of two numbers does not know their order.",
        "largest, powers, total = (torch.tensor(-torch.inf), 0.0, 1.0)": "The first correction is exp(−∞) = 0: what stood there is gone.",
        "largest, powers, total = (torch.tensor(-torch.inf), 1.0, 0.0)": "The first correction is exp(−∞) = 0: what stood there is gone.",
    },
    "costs-scan": {
        "while step <= n:": "A step as long as the text reaches before the first token: zeros are added.",
        "a = a * torch.cat((a[:step], a[:-step]))": "The first tokens take in nothing any more, whatever their gates.",
        "n, step = (len(a), 1)": "There are as many gates as inputs.",
    },
    "costs-tiles": {
        "new = torch.maximum(s.amax(-1, keepdim=True), largest)": "The larger of two numbers does not know their order.",
        "powers, total = (1.0, 0.0)": "The first correction is exp(−∞) = 0: what stood there is gone.",
        "powers, total = (0.0, 1.0)": "The first correction is exp(−∞) = 0: what stood there is gone.",
    },
    "decoding-step": {
        "return ((scores.softmax(-1) @ v)[:, -1], keys, values)": "That axis has one entry, the first and the last.",
        "slot = t % values.shape[1]": "There are as many values as keys.",
    },
    "decoding-top-p": {
        "kept = p.scatter(-1, order, kept)": "Every place is written to.",
        "best, order = p.sort(descending=True, stable=True)": "The last axis is the one that is sorted unless another is named.",
        "best, order = p.sort(dim=-1, descending=True)": "Unless it is asked to keep equals in their order, torch may keep it all the same.",
        "best, order = p.sort(dim=-1, descending=True, stable=False)": "Unless it is asked to keep equals in their order, torch may keep it all the same.",
    },
    "decoding-verify": {
        "return (len(p_draft), p[-1])": "There is a row for each drafted word.",
        "return (len(u), p[-1])": "There is a number for each drafted word.",
        "for i, word in enumerate(drafted):": "A number in a tensor finds the same entry.",
    },
    "design-ceiling": {
        "size = (int(looks.max()) + 1, int(tags.max()) + 2)": "A tag that nothing has is given to nobody.",
        "size = (int(looks.max()) + 2, int(tags.max()) + 1)": "A look that nobody has adds nothing.",
        "size = (int(looks.max()) + 1, tags.max() + 1)": "A whole number in a tensor is a size, too.",
        "size = (looks.max() + 1, int(tags.max()) + 1)": "A whole number in a tensor is a size, too.",
    },
    "devices-best": {
        "heads, kv = (n_heads // p, max(n_kv_heads // p, 1))": "A maximum knows no order.",
        "heads, kv = (n_heads // p, max(1, n_kv_heads / p))": "Where there are no fewer key-value heads than devices, p divides them.",
        "heads, kv = (n_heads / p, max(1, n_kv_heads // p))": "p divides the heads.",
        "c, others, width = (n / p, p - 1, 2 * d_head)": "p divides the tokens.",
        "last = n_heads * (c * c * others + c * (c + 1) / 2)": "One of c and c + 1 is even.",
        "even = heads * (n * (n + 1) / 2)": "One of n and n + 1 is even.",
    },
    "devices-bytes": {
        "return (p - 1) * (n / p) * vectors * d_head * bytes_per_number": "p divides the tokens.",
        "return numbers * max(4, bytes_per_number)": "A maximum knows no order.",
        "vectors = 2 * (n_heads // p) + 2 * max(n_kv_heads // p, 1)": "A maximum knows no order.",
        "vectors = 2 * (n_heads // p) + 2 * max(1, n_kv_heads / p)": "Where there are no fewer key-value heads than processes, p divides them.",
        "vectors = 2 * (n_heads / p) + 2 * max(1, n_kv_heads // p)": "p divides the heads.",
    },
    "devices-merge": {
        "safe = lses.masked_fill(nothing, 1.0)": "Where no part has a key, any number will do: outputs are 0 there, and the lse is filled over.",
    },
    "devices-merge-backward": {
        "outs = outs.masked_fill(empty[..., None], 1.0)": "An empty part has the weight 0, whatever number it holds.",
    },
    "devices-ring": {
        "p, c, d = k.shape": "Queries and keys have one shape.",
    },
    "heads-latent": {
        "scores = wide_query @ kept.mT / q.shape[-1] ** 0.5": "Queries are as wide as keys.",
    },
    "inside-induction": {
        "return torch.zeros_like(weights[:, 0, -1])": "Zeros of that shape hold nothing of the weights.",
        "return torch.zeros_like(weights[:, -1, 0])": "Zeros of that shape hold nothing of the weights.",
    },
    "linear-running-state": {
        "for i in range(q.shape[-2]):": "There are as many queries as keys.",
        "for i in range(v.shape[-2]):": "There are as many values as keys.",
        "for i in range(gate.shape[-2]):": "There are as many gates as keys.",
    },
    "recurrent-local-window": {
        "away = p - torch.arange(1, scores.shape[-1] + 1)": "Only the size of the distance is used, and its square.",
    },
    "recurrent-look-back": {
        "return (scores.softmax(-1)[..., None, :] @ h)[..., -1, :]": "That axis has one entry, the first and the last.",
    },
    "sparse-block-window": {
        "real = torch.arange(k.shape[-3])[:, None, None] * w + column >= w": "There are as many blocks of keys as of queries.",
        "real = torch.arange(v.shape[-3])[:, None, None] * w + column >= w": "There are as many blocks of values as of queries.",
        "k, v = (x.unfold(-2, 2 * w, w).transpose(-1, -2) for x in (k, v))": "transpose exchanges two axes; their order in the call says nothing.",
        "n = k.shape[-2]": "There are as many keys as queries.",
        "n = v.shape[-2]": "There are as many values as queries.",
    },
    "sparse-heard": {
        "reach = torch.eye(masks.shape[-2])": "Masks are square.",
    },
    "sparse-routed": {
        "chosen = torch.zeros_like(scores).scatter(-1, best, 1.1) > 0": "Any positive number says that a block is chosen.",
        "best = scores.topk(min(blocks, top)).indices": "A minimum knows no order.",
        "means = k.unflatten(-2, (blocks, size)).sum(-2)": "All blocks have one size: sums stand in the order of means.",
        "n = k.shape[-2]": "There are as many keys as queries.",
        "n = v.shape[-2]": "There are as many values as queries.",
    },
    "sparse-stride": {
        "return min(range(1, n + 2), key=pairs)": "A stride of n + 1 opens what a stride of n does, and comes later.",
        "return (i.clamp_max(s) + 1 + (i // s - 1).clamp_min(0)).sum()": "A tensor of one compares as its number.",
        "return int((i.clamp_max(s) + 1 + (i / s - 1).clamp_min(0)).sum())": "Parts of far tokens change every count alike: the best stride is the same for all n up to 420.",
        "return int((i.clamp_max(s) - 1 + (i // s - 1).clamp_min(0)).sum())": "The same number in every row moves no minimum.",
        "return int((i.clamp_max(s) + (i // s - 1).clamp_min(0)).sum())": "The same number in every row moves no minimum.",
        "return int((i.clamp_max(s) + 2 + (i // s - 1).clamp_min(0)).sum())": "The same number in every row moves no minimum.",
        "return int((i.clamp_max(s) + 0 + (i // s - 1).clamp_min(0)).sum())": "The same number in every row moves no minimum.",
    },
    "today-bytes": {
        "keys = min(n, layer['window'])": "Where there is a window, no keys have been counted before.",
        "keys += min(layer['window'], n)": "A minimum knows no order.",
    },
    "today-gate": {
        "return gate.transpose(2, 1) * heads": "transpose exchanges two axes; their order in the call says nothing.",
    },
    "today-indexer": {
        "order = scores.sort(descending=True, stable=True).indices": "The last axis is the one that is sorted unless another is named.",
        "order = scores.sort(dim=-1, descending=True).indices": "Unless it is asked to keep equals in their order, torch may keep it all the same.",
        "order = scores.sort(dim=-1, descending=True, stable=False).indices": "Unless it is asked to keep equals in their order, torch may keep it all the same.",
    },
    "today-latent": {
        "scores = scores / (q.shape[-1] + k_r.shape[-1]) ** 0.5": "Turned queries and keys are equally wide.",
        "scores = scores / (U.shape[-1] + q_r.shape[-1]) ** 0.5": "Keys are as wide as queries.",
    },
    "transformer-block": {
        "y = norm(x, w_o.shape[-1:])": "Attention gives back what is as wide as a token.",
        "y = norm(x, w_out.shape[-1:])": "The network gives back what is as wide as a token.",
        "scores = y @ w_q @ (y @ w_k).mT / w_k.shape[1] ** 0.5": "Queries and keys are equally wide.",
    },
    "transformer-norm-backward": {
        "centred = x.mean(-1, keepdim=True) - x": "The normed token stands in the result twice, and its sign falls out.",
    },
    "heads-route": {
        "w_q = 11000.0 * torch.eye(2 * m)": "Any large number makes weights of 0 and 1.",
    },
    "heads-mean": {
        "return heads.transpose(2, 1).flatten(2) @ w_o": "transpose exchanges two axes; their order in the call says nothing.",
    },
    "heads-layer": {
        "return self.out_proj(heads.transpose(-2, -3).flatten(-2))": "transpose exchanges two axes; their order in the call says nothing.",
        "scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5": "transpose exchanges two axes; their order in the call says nothing.",
        "return x.unflatten(-1, (self.n_heads, -1)).transpose(-2, -3)": "transpose exchanges two axes; their order in the call says nothing.",
    },
    "heads-grouped-query": {
        "return (q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5).softmax(-1) @ v": "Queries and keys are equally wide.",
        "return (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1) @ v": "transpose exchanges two axes; their order in the call says nothing.",
        "share = q.shape[-3] // v.shape[-3]": "There are as many heads of values as of keys.",
    },
    "masking-softmax": {
        "scores = scores.masked_fill(~mask, float('-inf'))": "The NaN of an empty row is filled over after the softmax, and its gradient where the scores were filled.",
    },
    "masking-pack": {
        "places, guesses, owner = (words.clone(), words - 100, words - 2)": "Any number below 0 is nobody's.",
    },
    "masking-leaks": {
        "depends[:, j] = (moves >= 1e-05).any(-1).any(0)": "No move is exactly the threshold.",
        "depends[:, j] = (moves > 1.1000000000000001e-05).any(-1).any(0)": "Between rounding and the faintest leak there is room for many thresholds.",
        "moves = model(changed) - before": "Words are exchanged both ways: what falls in one sentence rises in another.",
        "moves = (before - model(changed)).abs()": "Only the size of a move counts.",
        "return (depends & ~mask).nonzero()": "A tensor of pairs is a list of pairs.",
        "before, depends = (model(words), torch.ones(n, n, dtype=torch.bool))": "Every column is written anew.",
        "words, other = torch.randint(vocab_size, (2, 101 * vocab_size, n))": "More sentences show no less.",
        "words, other = torch.randint(vocab_size, (2, 99 * vocab_size, n))": "99 sentences a word are many, too.",
        "words, other = torch.randint(vocab_size, (2, 100, n))": "Enough for the small vocabularies that are tried.",
        "words, other = torch.randint(vocab_size, (2, 100 + vocab_size, n))": "Enough for the small vocabularies, too.",
        "words, other = torch.randint(vocab_size, (2, 100 * n, n))": "Enough for the small vocabularies, too.",
    },
    "playground-error": {
        "distance = p * words - right": "The distances are squared.",
    },
    "playground-backward": {
        "root = k.shape[-1] ** 0.5": "Queries and keys are equally wide.",
    },
    "positions-rope": {
        "scores = turned(q) @ turned(k).transpose(-1, -2) / d ** 0.5": "transpose exchanges two axes; their order in the call says nothing.",
        "return torch.stack((a * c - b * s, a * s + b * c), -2).flatten(-2)": "Columns of queries and keys are reordered alike: their products do not notice.",
        "return torch.stack((b * s - a * c, a * s + b * c), -1).flatten(-2)": "Queries and keys are mirrored alike: their products do not notice.",
        "a, b = (t[..., ::2], t[..., 1::2])": "A slice starts at 0 anyway.",
        "n, d = k.shape[-2:]": "Queries and keys have one shape.",
        "speed = base ** (-torch.arange(0, d, 2) / d)": "Whoever computes in double may make it the default.",
    },
    "positions-buckets": {
        "return torch.where(distance <= e, distance, far)": "Bucket e begins with distance e, whichever way it is found.",
        "steps = e * (distance / e).log() / math.log(longest / e)": "What comes of small distances is not chosen, even of the logarithm of 0.",
        "e = n_buckets / 2": "An even number has a half.",
    },
    "positions-equivariant": {
        "return torch.allclose(f(x[order]), out, rtol=0, atol=1.1000000000000001e-05)": "Between rounding and a thousandth there is room for many tolerances.",
        "return torch.allclose(out, f(x[order]), rtol=0, atol=1e-05)": "Without a relative part the two may change places.",
        "orders = [torch.randperm(len(x)) for _ in range(11)]": "How many orders are drawn is the reader's choice.",
        "orders = [torch.randperm(len(x)) for _ in range(9)]": "How many orders are drawn is the reader's choice.",
    },
    "queries-before": {
        "keys = n * torch.stack((angle.cos(), angle.sin()), -1)": "Any arrows that are long enough will do.",
        "keys = 3 * n * torch.stack((angle.cos(), angle.sin()), -1)": "Any arrows that are long enough will do.",
        "keys = (2 + n) * torch.stack((angle.cos(), angle.sin()), -1)": "Any arrows that are long enough will do.",
        "keys = 1 * n * torch.stack((angle.cos(), angle.sin()), -1)": "Any arrows that are long enough will do.",
        "angle = (2 + math.pi) * torch.arange(n) / n": "Most of a circle is enough.",
        "angle = 2 * torch.arange(n) / n": "A third of a circle is enough.",
        "angle = math.pi * torch.arange(n) / n": "Half a circle is enough.",
        "angle = 1 * math.pi * torch.arange(n) / n": "Half a circle is enough.",
    },
    "queries-layer": {
        "s = q @ k.transpose(-1, -2) / math.sqrt(k.shape[-1])": "transpose exchanges two axes; their order in the call says nothing.",
    },
    "queries-narrow": {
        "d_model, d_k = w_k.shape": "Both matrices have one shape.",
        "return (factor * w_q @ w_k.T, torch.eye(d_model))": "The cases are in single precision, which is what torch.eye makes.",
        "return (factor * w_q @ w_k.T, torch.eye(d_model).to(w_k))": "Both matrices have one dtype.",
    },
    "relevance-kernel": {
        "exponents = -(xs - at[:, None]).square() / (2 * width ** 2)": "a square does not know the sign",
    },
    "relevance-temperature": {
        "if torch.special.entr(p).sum().exp() <= heard:": "Equal happens once at most, at the end.",
        "s = s - s.min()": "Whichever score is subtracted from all, the differences stay.",
        "p = (s / math.exp(middle)).softmax(-0)": "There is one axis.",
        "p = (s / math.exp2(middle)).softmax(-1)": "The search runs over temperatures all the same.",
        "for _ in range(61):": "More than enough steps, either way.",
        "for _ in range(59):": "More than enough steps, either way.",
        "low, high = (-30.0, 33.0)": "A wider interval.",
        "low, high = (-33.0, 30.0)": "A wider interval.",
    },
    "relevance-sparsemax": {
        "z = (z - z.amax(-1, keepdim=True)).clamp_min(-1)": "1 below the largest, a score is at its threshold or under it",
        "z = (z - z.amax(-1, keepdim=True)).clamp_min(-3)": "what is more than 1 below the largest gets nothing",
        "stay = (ordered >= thresholds).sum(-1, keepdim=True)": "a score at its threshold leaves it where it is",
    },
    "saturation-sharpness": {
        "words = torch.arange(weights.shape[-2]) < lengths[:, None]": "The two last axes have one size.",
    },
    "saturation-stable-softmax": {
        "e = (scores - top.masked_fill(top == -torch.inf, 1)).exp()": "−inf less any finite number is −inf.",
        "e = (scores - top.masked_fill(top == -torch.inf, -1)).exp()": "−inf less any finite number is −inf.",
    },
    "scaling-owed": {
        "parts = (rows, columns, columns - (s - rows))": "A sign changes no variance.",
    },
    "scaling-qk-norm": {
        "s = normed(q, gain_q) @ normed(k, gain_k).transpose(-1, -2)": "transpose exchanges two axes; their order in the call says nothing.",
    },
    "scaling-search": {
        "while at(rate * 2) >= at(rate):": "On the way up no two neighbours are equal.",
        "return -2.0 if math.isnan(share) else share": "Anything below every share will do.",
        "return -1.1 if math.isnan(share) else share": "Anything below every share will do.",
        "return -0.0 if math.isnan(share) else share": "No run in the cases is always wrong.",
    },
    "scaling-unit-scores": {
        "s = x @ w_q @ (x @ w_k).transpose(-1, -2)": "transpose exchanges two axes; their order in the call says nothing.",
        "d_model, d_k = w_k.shape": "Both projections have one shape.",
    },
}

LEADING: dict[str, dict[int, int]] = {
    "decoding-top-p": {0: 1},
    "linear-features": {0: 2},
    "linear-running-state": {0: 2, 1: 2, 2: 2, 3: 2},
    "linear-taylor": {0: 2},
    "sparse-block-window": {0: 2, 1: 2, 2: 2},
    "sparse-routed": {0: 2, 1: 2, 2: 2},
    "heads-grouped-query": {0: 3, 1: 3, 2: 3},
    "positions-rope": {0: 2, 1: 2, 2: 2},
    "recurrent-local-window": {0: 1, 1: 1},
    "recurrent-look-back": {0: 1, 1: 2, 2: 1},
    "saturation-stable-softmax": {0: 1},
    "scaling-qk-norm": {0: 2, 1: 2},
    "scaling-unit-scores": {0: 2},
    "today-sink": {0: 3},
    "transformer-block": {0: 2},
    "transformer-norm-backward": {0: 2, 1: 2},
    "why-running-bag": {0: 2},
    "why-scores": {0: 2},
}

STYLES: dict[str, dict[str, str]] = {}
