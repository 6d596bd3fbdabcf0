"""Write what the figures' mathematics must give, computed by torch in double precision.

    python tests/widgets/make_goldens.py

`test_goldens.py` checks that the stored files are what this script gives now; node compares the JavaScript.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
from pathlib import Path

import torch
from torch.nn.attention.flex_attention import create_mask

from attnbook import configuration as configurations
from attnbook import reading, results
from attnbook.experiments import dates, translation
from attnbook.tagging import shipped, views, words
from attnbook.widgets import (
    HeadsWorkshop,
    LinearAgainstSoftmax,
    MaskPainter,
    OnlineSoftmax,
    PositionsLab,
    RopeDial,
    Sampling,
    Saturation,
    SoftLookup,
    SparsePatterns,
    StateFilling,
)
from attnbook.widgets import alignment as alignment_figure
from attnbook.widgets import decoder as decoder_figure
from attnbook.widgets import linear as linear_figure
from attnbook.widgets import saturation as saturating
from attnbook.widgets.anatomy import published
from attnbook.widgets.block import follow
from attnbook.widgets.ring import SCHEMES
from attnlab import attention, masks
from attnlab.distributed import Split, all_to_all_bytes, ring_bytes
from attnlab.distributed.splits import heads_of
from attnlab.transformer import distribution

FOLDER = Path(__file__).parent / "goldens"
SENTENCES = (
    "I saw a saw",
    "What do you do ?",
    "There were many hotels there.",
    "Can you open the can?",
    "I don't think it's well-known (3.5 km).",
    "👩‍👩‍👧 saw <script>alert('x')</script> שלום!",
    "saw",
    " ".join(["the old man the boat and"] * 4),
)
DATES = (
    "3 may 1984",
    "5/3/84",
    "the twenty-first of october, 1999",
    "mon, 29 feb 2016",
    "7",
    "",
    "i saw a saw",
    "3.5.84 and 1/1/2000; 2049, dec 31 to x",
)
TEXTS = (
    "",
    " \t\n",
    "I saw a saw",
    "don’t can't cannot CANNOT it's 's I'd've",
    "U.S. e.g. Mr. Smith, Ph.D. etc. a.m. ...",
    "3.5 1,000 10:30am $5 #1 50% A4 x.com AT&T",
    "http://x.com/a-b?c=d. www.x.org, me@x.org!",
    "well-known and/or a--b --- – — “quoted” ‘so’",
    "👩‍👩‍👧👍🏽!! 🇩🇪 :-) é e\u0301 ﬁ ß ẞ İstanbul ſ \u212a",
    "שלום עולם مرحبا بالعالم नमस्ते 你好 世界",
    "<script>alert('x')</script>\u0000\u0007 a\u200bb \ufeff\ufffd",
    "ΟΔΟΣ Σ ǅ ŉ \u2028\u2029 \u00a0 x_y _ __ '",
)
PASTED = json.loads((Path(__file__).parent / "configurations.json").read_text(encoding="utf-8"))
"""What published files say and the census's classes don't, cut to attention; and what can't be used."""
ODD = (
    {"num_hidden_layers": "32", "num_attention_heads": -3, "max_position_embeddings": 2.5},
    {"n_layer": 2, "n_head": 3, "n_embd": 64},
    {"n_layer": 2, "n_head": 3, "n_embd": "x" * 39 + "🇩🇪"},
    {"n_layer": 2, "n_head": 8, "head_dim": 4, "num_key_value_heads": "2", "rope_theta": "1e6"},
    {"n_layer": 2, "n_head": 8, "head_dim": 4, "num_key_value_heads": 3},
    {"n_layer": 2, "n_head": [8], "head_dim": {}, "sliding_window": -1, "n_positions": True},
    {"n_layer": 2, "n_head": 1, "head_dim": 4, "sliding_window": False},
    {"layer_types": ["sliding_attention"], "sliding_window": "4"},
    {"n_layer": 2, "n_head": 1, "n_head_kv": "1", "head_dim": 4, "multi_query": True},
    {"n_layer": 2, "n_head": 1, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "hidden_size": "9"},
    {"n_layer": 2, "n_head": 4, "head_dim": 8, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "use_mla": False},
    {"n_layer": 10**9, "n_head": 1, "head_dim": 8},
    {"text_config": {"rope_scaling": {"factor": 8.0, "rope_type": "linear"}}},
    {"rope_parameters": {"rope_type": "default"}, "rope_theta": None},
    {"rope_scaling": {}, "rotary_dim": 4},
    {"rope_theta": 9, "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}},
    {"rope_theta": 9, "rope_scaling": {"rope_theta": 5, "type": "linear", "factor": 0.5}},
    {"rope_theta": 9, "rope_scaling": {"type": "yarn", "factor": 1}},
    {"layer_types": ["conv", "mamba", "full_attention"], "n_head": 1, "head_dim": 8},
    {"model_type": "bert", "n_layer": 2, "n_head": 1, "head_dim": 8},
    {"model_type": "bert", "n_layer": 2, "n_head": 1, "head_dim": 8, "is_decoder": True},
    {"num_layers": 6, "num_heads": 8, "d_kv": 64, "d_model": 1024, "is_encoder_decoder": True},
    {"num_hidden_layers": 2, "num_heads": 8, "state_size": 4},
    *PASTED["published"].values(),
    *(PASTED["small"] | more for more in PASTED["beside"]),
)
"""Configurations with values that can't be used, and with names and kinds that the census's have not."""
ALPHABET = "aZsxn't.,:-/@&’'\"! \t09_éßИשم的👍\u0301\u200d🏽\u00a0İſ"


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in GOLDENS.items():
        content = json.dumps(make(), ensure_ascii=True, indent=0, separators=(",", ":"))
        (FOLDER / f"{name}.json").write_text(content + "\n")


def alignment() -> list[dict]:
    """Let each of the four small models write dates, and things that are none, in double precision."""
    cases = []
    for score, single in alignment_figure.models().items():
        model = copy.deepcopy(single).double()
        for text in DATES:
            if not text:
                cases.append({"score": score, "text": text, "answer": "", "probabilities": [], "weights": []})
                continue
            (answer,), (weights,) = translation.write(model, [text], max_new_tokens=24)
            target = dates.answers([answer])
            with torch.no_grad():
                chances = model(dates.encode([text]), target[:, :-1]).softmax(-1)[0]
            chosen = chances.gather(-1, target[0, 1:, None])[: len(answer), 0]
            cases.append(
                {
                    "score": score,
                    "text": text,
                    "answer": answer,
                    "probabilities": chosen.tolist(),
                    "weights": weights.tolist(),
                }
            )
    return cases


def calculator() -> list[dict]:
    """Attend to small matrices, ordinary and extreme."""
    draw = torch.Generator().manual_seed(1)
    cases = []
    for n, d_model, d_k, d_v, size, causal, scale in (
        (4, 3, 3, 3, 1.0, False, None),
        (3, 5, 16, 4, 1.0, False, None),
        (1, 2, 1, 3, 1.0, True, None),
        (5, 2, 4, 1, 30.0, True, None),
        (4, 3, 2, 2, 100.0, False, 1.0),  # scores beyond ±1e4: every row is one-hot
        (4, 3, 2, 2, 0.0, False, None),  # all ties
        (6, 4, 8, 8, 1.0, True, 0.01),
    ):
        x, w_q, w_k, w_v = (
            size * torch.randn(rows, columns, generator=draw, dtype=torch.float64)
            for rows, columns in ((n, d_model), (d_model, d_k), (d_model, d_k), (d_model, d_v))
        )
        q, k, v = x @ w_q, x @ w_k, x @ w_v
        out, weights = attention(q, k, v, scale=scale, is_causal=causal, need_weights=True)
        given = {"x": x, "wq": w_q, "wk": w_k, "wv": w_v}
        want = {"q": q, "k": k, "v": v, "scores": q @ k.T, "weights": weights, "output": out}
        cases.append(
            {
                "given": {key: t.tolist() for key, t in given.items()} | {"scale": scale, "causal": causal},
                "want": {key: t.tolist() for key, t in want.items()},
            }
        )
    return cases


def decoder() -> dict[str, list[dict]]:
    """Read sentences with both models, alone and with shared heads; cut by every rule; draft and verify."""
    known, reads = decoder_figure.words(), []
    for (name, model), heads in itertools.product(decoder_figure.models().items(), (4, 2, 1)):
        if name == "draft" and heads < 4:
            continue
        double = copy.deepcopy(model).double()
        double = double if heads == 4 else double.grouped(heads)
        for text in ("", "I saw a saw", "the old dog can watch them left will that fish"):
            ids = torch.tensor([[0, *map(known.index, text.split())]])
            with torch.no_grad():
                scores = double(ids)[0]  # one full pass: the page reads word by word, with a cache
                cache = double.new_cache(1, ids.shape[1])
                double(ids, cache=cache)
            kept = [
                [part[0].transpose(0, 1).flatten(1).tolist() for part in (layer._keys, layer._values)]
                for layer in cache
            ]
            reads.append(
                {
                    "name": name,
                    "heads": heads,
                    "ids": ids[0].tolist(),
                    "scores": scores.tolist(),
                    "kept": kept,
                }
            )
    draw = torch.Generator().manual_seed(4)
    cut = []
    for scores in (*(3 * torch.randn(3, 19, generator=draw, dtype=torch.float64)), torch.zeros(7).double()):
        for rules in (
            {"temperature": 0.0},
            {"temperature": 0.3},
            {"temperature": 1.0, "top_k": 4},
            {"temperature": 2.5, "top_p": 0.7},
            {"temperature": 1.0, "top_p": 1.0},
            {"temperature": 1.7, "min_p": 0.2},
            {"temperature": 1.3, "top_k": 9, "top_p": 0.8, "min_p": 0.1},
        ):
            want = distribution(scores, **rules)
            cut.append({"scores": scores.tolist(), "rules": rules, "want": want.tolist()})
    passes = []
    for text, rule, draft, heads, seed in itertools.product(
        ("", "I saw", "that can can the old fish will saw a"),
        ("all", "greedy", "min_p"),
        (0, 1, 4),
        (4, 1),
        (0, 3, 8),
    ):
        rules = Sampling(rule=rule, temperature=1.4, min_p=0.3).rules
        step = decoder_figure.one_pass(text, rules, draft, heads, seed)
        rows = len(text.split()) + 1 + len(step.drafted)
        given = {"ids": [known.index(word) for word in text.split()], "rules": rules}
        want = {
            "drafted": step.drafted,
            "keep": step.keep,
            "kept": step.kept,
            "words": step.words,
            "best": step.p.amax(-1).tolist(),
            "reads": decoder_figure.bytes_read(rows, rows, len(step.drafted), heads),
        }
        passes.append({"given": given | {"draft": draft, "heads": heads, "seed": seed}, "want": want})
    return {"reads": reads, "cut": cut, "passes": passes}


def heads() -> list[dict]:
    """Share keys and values among heads: in every way in a drawn layer, in some in the layer of the book."""
    draw = torch.Generator().manual_seed(5)
    x = torch.randn(3, 4, generator=draw, dtype=torch.float64)
    drawn = [x, *(2 * torch.randn(4, 8, generator=draw, dtype=torch.float64) for _ in range(3))]
    drawn.append(torch.randn(8, 3, generator=draw, dtype=torch.float64))
    cases = []
    for matrices, names in (([], None), (drawn, "abc")):
        for n in (1, 2, 4, 8):
            for m in (1, 2, 4, 8):
                if m > n or (not matrices and n * m not in (2, 16, 64)):
                    continue
                options = {"tokens": list(names)} if names else {}
                figure = HeadsWorkshop(*matrices, **options, heads=n, kv_heads=m)
                outputs, weights = figure.attend()
                off = [1, n] if n * m > 2 else []
                figure.off = sorted(set(off))
                keys = ("x", "w_q", "w_k", "w_v", "w_o", "heads", "kv_heads", "off")
                given = {key: getattr(figure, key) for key in keys}
                want = {
                    "weights": weights.tolist(),
                    "outputs": outputs.tolist(),
                    "parts": figure.parts.tolist(),
                    "output": figure.output.tolist(),
                    "errors": figure.errors.tolist(),
                    "error": figure.error,
                    "overlap": figure.overlap,
                }
                cases.append({"given": given, "want": want})
    return cases


def lookup() -> list[dict]:
    """Look up in the plane with both scores and all four ways to weigh, warm and cold, and with ties."""
    draw = torch.Generator().manual_seed(3)
    cases = []
    for n in (1, 2, 5):
        values = (6 * torch.rand(n, 2, generator=draw, dtype=torch.float64) - 3).tolist()
        query = (6 * torch.rand(2, generator=draw, dtype=torch.float64) - 3).tolist()
        for points in (values, [values[0]] * n):
            for score in ("dot", "distance"):
                for weights in ("softmax", "sparsemax", "relu", "none"):
                    for temperature in (0.01, 0.7, 100.0):
                        given = {
                            "query": query,
                            "score": score,
                            "weights": weights,
                            "temperature": temperature,
                        }
                        figure = SoftLookup(points, [str(i) for i in range(n)], **given)
                        raw, w = figure.numbers()
                        want = {
                            "scores": raw.tolist(),
                            "weights": w.tolist(),
                            "output": figure.output.tolist(),
                        }
                        cases.append({"given": given | {"values": points}, "want": want})
    return cases


def positions() -> list[dict]:
    """Attend to a sentence in several orders under each scheme."""
    draw = torch.Generator().manual_seed(5)
    cases = []
    for scheme in ("none", "sinusoidal", "learned", "rotary", "alibi", "relative"):
        for order in ((0, 1, 2, 3), (3, 1, 0, 2), (4, 1, 0, 3, 2)):
            n = len(order)
            x = None if n == 4 else torch.randn(n, 4, generator=draw, dtype=torch.float64)
            figure = PositionsLab(scheme, tokens=("I", "saw", "a", "saw", "too")[:n], x=x, order=order)
            want = {key: getattr(figure, key).tolist() for key in ("weights", "output", "change")}
            cases.append({"given": figure.settings(), "want": want})
    return cases


def rope() -> list[dict]:
    """Place a query and a key, turned or added, and score their pairs: the figure's own and a wider one."""
    draw = torch.Generator().manual_seed(8)
    cases = []
    for scheme in ("rotary", "sinusoidal"):
        for m, n, d in ((12, 9, 8), (0, 31, 8), (7, 7, 8), (30, 4, 6)):
            given = {} if d == 8 else dict(zip("qk", torch.randn(2, d, generator=draw).tolist(), strict=True))
            figure = RopeDial(scheme, m=m, n=n, base=100.0 if d == 8 else 10000.0, **given)
            want = {key: getattr(figure, key).tolist() for key in ("angles", "parts", "curve")}
            want["placed"] = [figure.placed(v)[[0, 9, 31]].tolist() for v in (figure.q, figure.k)]
            cases.append({"given": figure.settings(), "want": want | {"score": figure.score}})
    return cases


def mask_painter() -> dict[str, list[dict]]:
    """Give the presets as FlexAttention makes them, and attention under masks, early, late and nudged."""
    rules = {
        "causal": lambda n, s: lambda b, h, i, j: i >= j,
        "padding": lambda n, s: lambda b, h, i, j: j < n - s,
        "prefix": lambda n, s: lambda b, h, i, j: (j < s) | (i >= j),
        "packed": lambda n, s: lambda b, h, i, j: i // s == j // s,
    }
    presets = [
        {
            "name": name,
            "n": n,
            "size": size,
            "mask": create_mask(rule(n, size), None, None, n, n, device="cpu")[0, 0].int().tolist(),
        }
        for name, rule in rules.items()
        for n, size in ((1, 1), (5, 2), (6, 1), (6, 6), (7, 3))
    ]
    draw = torch.Generator().manual_seed(6)
    attended = []
    for n, d in ((1, 2), (3, 1), (6, 2)):
        x = torch.randn(n, d, generator=draw, dtype=torch.float64).tolist()
        painted = torch.rand(n, n, generator=draw) < 0.4
        for mask in (masks.causal(n), painted, torch.zeros(n, n), torch.ones(n, n)):
            for late in (False, True):
                for nudged, nudge in ((-1, 1.0), (n - 1, 0.5), (0, -3.0)):
                    given = {
                        "mask": mask.bool().int().tolist(),
                        "late": late,
                        "nudged": nudged,
                        "nudge": nudge,
                    }
                    figure = MaskPainter(x, "abcdef"[:n], size=1, **given)
                    weights, output, moved = (t.tolist() for t in figure.numbers())
                    want = {"weights": weights, "output": output, "moved": moved, "leak": figure.leak}
                    attended.append({"given": given | {"x": x}, "want": want})
    return {"presets": presets, "attended": attended}


SETTINGS = ((1, 1.0, True), (64, 0.1, True), (1024, 1.0, False), (256, 100.0, False), (4, 0.01, False))
"""Width, temperature and scale, from a uniform row to a one-hot one."""


def online() -> list[dict]:
    """Go through rows by tiles, at every shift, with rescaling; the whole row is torch's own softmax."""
    draw = random.Random(7)
    cases = []
    for n, tile, shift in itertools.product((2, 5, 12), (1, 3, 4, 12), (0, 80, 1000, -1000)):
        scores = [round(draw.uniform(-4, 4), 2) for _ in range(n)]
        values = [round(draw.uniform(-9, 9), 1) for _ in range(n)]
        figure = OnlineSoftmax(scores, values, tile=tile, shift=shift)
        done = [step[1:] for step in figure.steps()]
        cases.append(
            {"given": [scores, values, tile, shift], "want": {"steps": done, "output": figure.output}}
        )
    return cases


def linear() -> list[dict]:
    """Compare both feature maps with softmax; the outputs by the bracket that the page does not use first."""
    cases, some = [], [0, 21, 63]
    for (mapped, features), sharpness in itertools.product(
        (("elu", 64), ("random", 1), ("random", 64)), (0.3, 1.0, 2.5)
    ):
        figure = LinearAgainstSoftmax(map=mapped, features=features, sharpness=sharpness, seed=5)
        given = {key: getattr(figure, key) for key in ("map", "features", "sharpness", "seed")}
        got = figure.compared()
        q, k, v = linear_figure.drawn(sharpness)
        fq, fk = (linear_figure.phi(x, mapped, features, 5) for x in (q, k))
        rows = {
            "exact": got.exact,
            "weights": got.weights,
            "valuesFirst": fq @ (fk.T @ v) / (fq @ fk.sum(0))[:, None],
            "scoresFirst": got.weights @ v,
        }
        want = {name: table[some].tolist() for name, table in rows.items()}
        numbers = {"error": got.error, "errorOfMean": got.error_of_mean}
        cases.append({"given": given, "rows": some, "want": want, "numbers": numbers})
    return cases


def state() -> list[dict]:
    """Fill the state by every rule, with the package's own linear forms."""
    cases = []
    for rule, step, likeness in itertools.product(
        ("sum", "gate", "delta", "both"), (0, 1, 5, 6, 8), (0.0, 0.6)
    ):
        for asked, stays in (("Ann", 0.5), ("Cy", 0.95)):
            given = {"rule": rule, "step": step, "asked": asked, "likeness": likeness, "stays": stays}
            figure = StateFilling(**given)
            want = {name: getattr(figure, name).tolist() for name in ("held", "answer", "weights", "softmax")}
            cases.append({"given": given, "want": want, "today": figure.today})
    return cases


def patterns() -> list[dict]:
    """Draw every pattern, causal or not, and the layers after which each pair is reached."""
    cases = []
    for kind, causal, (n, width) in itertools.product(
        ("window", "strided", "fixed", "mixed"), (True, False), ((12, 1), (23, 4), (36, 6))
    ):
        figure = SparsePatterns(kind, n=n, width=width, globals=2, random=3, causal=causal)
        given = {key: getattr(figure, key) for key in ("kind", "n", "width", "globals", "random", "causal")}
        reach = torch.stack([figure.reach(depth) for depth in range(1, 6)]).int()
        layers = torch.where(reach[-1] > 0, 6 - reach.sum(0), 0)
        cases.append(
            {"given": given, "want": {"mask": figure.mask.int().tolist(), "layers": layers.tolist()}}
        )
    return cases


def saturation() -> dict:
    """Sample scores, and measure rows from uniform to one-hot; derivatives by torch's own differentiation."""
    samples = []
    for seed in (0, 1, 2**31 - 1):
        last = saturating.sampled(seed)[:, 63]
        samples.append({"seed": seed, "normals": saturating.normals(seed, 64).tolist(), "row": last.tolist()})
    draw = torch.Generator().manual_seed(5)
    cases = []
    for n in (2, 3, 8):
        drawn = (2.6 * torch.rand(n, generator=draw, dtype=torch.float64) - 1.3).tolist()
        names = [str(j) for j in range(n)]
        for row, (d_k, temperature, scaled) in itertools.product((drawn, [0.5] * n, None), SETTINGS):
            figure = Saturation(row, names=names, d_k=d_k, scaled=scaled, seed=3)
            z = figure.row / temperature
            jacobian = torch.autograd.functional.jacobian(lambda z: z.softmax(-1), z)
            weights = z.softmax(-1)
            want = {
                "weights": weights.tolist(),
                "slopes": jacobian.diagonal().tolist(),
                "entropy": torch.special.entr(weights).sum().item(),
                "largest": jacobian.max().item(),
                "norm": jacobian.norm().item(),
            }
            cases.append({"given": z.tolist(), "want": want})
    figure = Saturation(d_k=256, scaled=False)
    rows = saturating.measure(figure.samples)
    medians = {what: getattr(rows, what).quantile(0.5).item() for what in saturating.MEASURES}
    spread = figure.samples.std(correction=0).item()
    return {"samples": samples, "cases": cases, "medians": medians, "spread": spread}


def tagger() -> list[dict]:
    """Tag sentences with the shipped weights: in double precision, and as Python users see them."""
    ours = shipped.ShippedTagger(shipped.FILE)
    double = shipped.ShippedTagger(shipped.FILE)
    double.model.double()
    cases = []
    for sentence, hidden in [
        *((text, []) for text in SENTENCES),
        ("I saw a saw", [2]),
        ("I saw it", [0, 1, 2]),
    ]:
        single, fine = ours.tag(sentence, hidden=hidden), double.tag(sentence, hidden=hidden)
        cases.append(
            {
                "sentence": sentence,
                "hidden": hidden,
                "tokens": fine.tokens,
                "tags": single.tags,
                "probabilities": fine.probabilities.tolist(),
                "weights": fine.weights.tolist(),
                "single": single.probabilities.amax(-1).tolist(),
            }
        )
    return cases


def block() -> list[dict]:
    """Follow all words through the shipped tagger in double precision, with parts switched off."""
    double = shipped.ShippedTagger(shipped.FILE)
    double.model.double()
    cases = []
    for sentence, off in (
        ("I saw a saw", []),
        ("I saw a saw", ["attention 1"]),
        ("What do you do?", ["head 1.1", "head 2.3", "network 2"]),
        ("There were many hotels there.", ["norm"]),
        ("Can you open the can?", ["residual"]),
        ("work", ["norm", "residual", "attention 2", "network 1"]),
    ):
        stages = follow(double, double.tag(sentence).tokens, off)
        cases.append(
            {
                "sentence": sentence,
                "off": off,
                "parts": [stage.part for stage in stages],
                "on": [stage.on for stage in stages],
                "added": [stage.added.tolist() for stage in stages],
                "probabilities": [stage.probabilities.tolist() for stage in stages],
            }
        )
    return cases


def configuration() -> dict:
    """Read each configuration of the census's models, by the rules that go to the page."""

    def told(config: dict) -> dict:
        found = configurations.read(config)
        said, each = reading.summary(found), reading.token_bytes(found)
        return {"reading": found, "bytes": each, "summary": said}

    stored = results.load("configurations")["configurations"]
    return {
        "rules": configurations.RULES,
        "models": {name: told(config) for name, config in stored.items()},
        "odd": [{"config": config} | told(config) for config in ODD],
    }


def anatomy() -> list[dict]:
    """Add up what the caches of the published models hold, entry by entry."""
    cases = []
    for name, model in published().items():
        layers, grow, within, window, state = torch.tensor(model["cache"], dtype=torch.float64).T
        for n in (256, 300, 5000, 131072, 2**20):
            held = layers * (grow * n + within * window.clamp(max=n) + state)
            cases.append({"name": name, "n": n, "want": held.sum().item()})
    return cases


def ring() -> list[dict]:
    """Deal tokens out by `Split`, count what is seen, and bytes by the package's formulas."""
    shape = {"n_kv_heads": 2, "d_head": 64, "bytes_per_number": 2}
    cases = []
    for tokens, devices, scheme in itertools.product((8, 16, 29), (2, 3, 4, 8), SCHEMES):
        kind = "zigzag" if scheme == "zigzag" else "contiguous"
        split = Split(tokens, devices, kind)
        held = [split.positions(rank).tolist() for rank in range(devices)]
        for causal in (True, False):
            seen = [[j <= i or not causal for j in range(tokens)] for i in range(tokens)]
            if scheme == "all-to-all":
                dealt = [heads_of(8, 2, devices, rank) for rank in range(devices)]
                pairs = [[0] * devices, [sum(map(sum, seen))] * devices, [0] * devices]
                heads = [[0] * devices, [len(own) for own, _ in dealt], [0] * devices]
                sent = [all_to_all_bytes(split, r, n_heads=8, **shape) for r in range(devices)]
            else:
                pairs = [
                    [
                        sum(seen[i][j] for i in held[rank] for j in held[(rank - hop) % devices])
                        for rank in range(devices)
                    ]
                    for hop in range(devices)
                ]
                heads = [[8] * devices] * devices
                sent = [ring_bytes(split, rank, **shape) for rank in range(devices)]
            given = {"tokens": tokens, "devices": devices, "scheme": scheme, "causal": causal}
            want = {"held": held, "pairs": pairs, "heads": heads, "sent": sent}
            cases.append({"given": given, "want": want})
    return cases


def text_rules() -> list[dict]:
    """Cut, describe and hash texts: written by hand, and thrown together from difficult characters."""
    draw = random.Random(7)
    thrown = ["".join(draw.choices(ALPHABET, k=draw.randint(1, 24))) for _ in range(120)]
    cases = []
    for text in (*TEXTS, *thrown):
        tokens = words.split(text)
        described = [words.features(token) for token in tokens]
        hashes = [[words.bucket(f, seed, 2970) for f in row for seed in (0, 0x9E3779B9)] for row in described]
        cases.append({"text": text, "tokens": tokens, "features": described, "buckets": hashes})
    return cases


def design() -> list[dict]:
    """Say how good any model can be that sees through designs drawn at random, and what they cost."""
    rng = random.Random(30)
    cases = []
    for _ in range(80):
        reach, n_layers = rng.choice((1, 2, 2, 3, 7)), rng.choice((1, 1, 2))
        offsets = [offset for offset in range(-reach, reach + 1) if offset]
        layers = tuple(
            tuple(sorted(rng.sample(offsets, rng.randint(0, min(4, len(offsets)))))) for _ in range(n_layers)
        )
        mix = rng.choice(("attention", "attention", "mean"))
        one = views.Design(
            layers=layers,
            told=mix == "attention" and rng.random() < 0.6,
            nearest=rng.choice((0, 0, 2, 3, 4)),
            mix=mix,
        )
        best, price = views.ceiling(one), views.pairs(one)
        held, wait = views.reading(one)
        found = views.confusion(one)
        cases.append(
            {
                **{key: getattr(one, key) for key in ("layers", "told", "nearest", "mix")},
                "ceiling": float(best),
                "confusion": found and [found.word, float(found.lost), found.alike],
                "pairs": float(price),
                "bytes": held,
                "wait": wait,
                "sees": [[one.sees(6, i, layer) for i in range(6)] for layer in range(n_layers)],
            }
        )
    return json.loads(json.dumps(cases))


GOLDENS = {
    "design": design,
    "anatomy": anatomy,
    "configuration": configuration,
    "alignment": alignment,
    "block": block,
    "calculator": calculator,
    "decoder": decoder,
    "heads": heads,
    "linear": linear,
    "lookup": lookup,
    "masks": mask_painter,
    "online": online,
    "patterns": patterns,
    "positions": positions,
    "ring": ring,
    "rope": rope,
    "saturation": saturation,
    "state": state,
    "tagger": tagger,
    "words": text_rules,
}
"""Each file of goldens, and what makes it."""

if __name__ == "__main__":
    main()
