"""Writing with a language model: every draw enumerated, equal ways to one text."""

import itertools
from collections import Counter

import pytest
import torch
from torch import Tensor

from attnbook.experiments.decoding import every_way
from attnbook.tagging import grammar
from attnlab import masks
from attnlab.transformer import (
    LanguageModel,
    accept_or_resample,
    beam_search,
    distribution,
    generate,
    min_p,
    samplers,
    temper,
    top_k,
    top_p,
)
from attnlab.transformer.speculative import speculate

SCHEMES = ("none", "learned", "sinusoidal", "relative", "alibi", "rotary")
WORDS = ["<start>", "<end>", *sorted({word for words, _ in grammar.sentences() for word in words})]


def small(vocab_size=7, seed=0, scheme="rotary", **options):
    torch.manual_seed(seed)
    # Not tied: with one table for both, a model that has learned nothing repeats its last word for ever.
    model = (
        LanguageModel(vocab_size, 8, 2, 2, positions=scheme, tied=False, std=1.0, **options).double().eval()
    )
    torch.nn.init.normal_(model.out_proj.weight)
    if scheme == "relative":
        torch.nn.init.normal_(model.stack.relative.weight)
    return model


def by_definition(model, start, n, rule) -> dict[tuple, float]:
    """Multiply the probabilities of the words of every text, each from a full pass."""
    texts = {tuple(start): 1.0}
    for _ in range(n):
        longer: dict[tuple, float] = {}
        for text, chance in texts.items():
            p = rule(model(torch.tensor([text]))[0, -1].softmax(-1))
            longer |= {(*text, at): chance * x for at, x in enumerate(p.tolist()) if x > 0}
        texts = longer
    return texts


def same(found, want):
    assert abs(sum(found.values()) - 1) < 1e-9
    assert found.keys() == want.keys()
    assert max(abs(found[text] - want[text]) for text in want) < 1e-10


def padded(prompts):
    """Return prompts as rows, padded on the left, and where their words are."""
    n = max(map(len, prompts))
    ids = torch.tensor([[0] * (n - len(prompt)) + prompt for prompt in prompts])
    return ids, torch.arange(n) >= torch.tensor([[n - len(prompt)] for prompt in prompts])


# The rules, each against its definition.


def smallest_set(p: Tensor, share: float) -> Tensor:
    """Try all sets of words, the smallest first; of those of one size the most probable."""
    for size in range(1, len(p) + 1):
        best = max(itertools.combinations(range(len(p)), size), key=lambda words: float(p[list(words)].sum()))
        if float(p[list(best)].sum()) >= share:
            kept = torch.zeros_like(p)
            kept[list(best)] = p[list(best)]
            return kept / kept.sum()
    raise AssertionError


@pytest.mark.parametrize("seed", range(20))
def test_the_rules_keep_what_their_definitions_say(seed):
    p = (3 * torch.randn(6, generator=torch.Generator().manual_seed(seed))).double().softmax(-1)
    for share in (0.05, 0.5, 0.9, 0.99):
        assert torch.allclose(top_p(p, share), smallest_set(p, share), atol=1e-12)
        kept = p.where(p >= share * p.max(), 0)
        assert torch.allclose(min_p(p, share), kept / kept.sum(), atol=1e-12)
    for k in (1, 2, 5, 6, 9):
        kept = torch.zeros(6).double()
        for word in sorted(range(6), key=lambda word: -p[word])[:k]:
            kept[word] = p[word]
        assert torch.allclose(top_k(p, k), kept / kept.sum(), atol=1e-12)
    assert torch.allclose(top_p(p, 1.0), p)


def test_rules_work_row_by_row_and_one_after_another():
    scores = torch.randn(3, 2, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rows = distribution(scores, 0.7, top_k=5, top_p=0.8, min_p=0.2)
    for row, got in zip(scores.flatten(0, 1), rows.flatten(0, 1), strict=True):
        assert torch.allclose(got, min_p(top_p(top_k((row / 0.7).softmax(-1), 5), 0.8), 0.2))
    for rule in (lambda p: top_k(p, 3), lambda p: top_p(p, 0.5), lambda p: min_p(p, 0.5)):
        twice = rule(rule(rows))
        assert torch.allclose(twice.sum(-1), torch.ones(3, 2, dtype=torch.float64))


def test_equal_words_are_kept_in_the_order_of_the_vocabulary():
    p = torch.full((100,), 0.01, dtype=torch.float64)
    assert top_k(p, 3).nonzero().flatten().tolist() == [0, 1, 2]
    assert top_p(p, 0.025).nonzero().flatten().tolist() == [0, 1, 2]
    assert min_p(p, 1.0).count_nonzero() == 100
    assert temper(p, 0).nonzero().flatten().tolist() == [0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scores_of_half_precision_become_probabilities_of_single(dtype):
    scores = torch.tensor([60000.0, 59000.0, -60000.0], dtype=dtype)
    for temperature in (0, 1e-3, 1.0, 1e4):
        p = temper(scores, temperature)
        assert p.dtype == torch.float32
        assert p.isfinite().all()
        assert abs(p.sum() - 1) < 1e-6


def test_temperature_goes_from_the_best_word_to_all_alike():
    scores = torch.randn(9, generator=torch.Generator().manual_seed(0)).double()
    assert torch.allclose(temper(scores, 1e-3), temper(scores, 0), atol=1e-12)
    assert torch.allclose(temper(scores, 1e9), torch.full((9,), 1 / 9).double(), atol=1e-8)
    assert torch.allclose(temper(scores), scores.softmax(-1))


# What is written, against the definition, over all ways that the draws can fall.

RULES = [
    ({"temperature": 1.0, "top_k": 3}, lambda p: top_k(p, 3)),
    ({"temperature": 1.0, "top_p": 0.6}, lambda p: top_p(p, 0.6)),
    ({"temperature": 1.0, "min_p": 0.3}, lambda p: min_p(p, 0.3)),
    ({"temperature": 0.5, "top_k": 2}, lambda p: top_k(p**2 / (p**2).sum(), 2)),
    ({}, lambda p: torch.eye(len(p), dtype=p.dtype)[p.argmax()]),
]


@pytest.mark.parametrize(("how", "rule"), RULES)
def test_generate_writes_with_the_probabilities_of_its_rule(how, rule):
    model = small(len(WORDS))  # as many words as the toy grammar has
    start = [0, WORDS.index("saw")]
    found = every_way(lambda: tuple(generate(model, torch.tensor([start]), 3, **how)[0].tolist()))
    same(found, by_definition(model, start, 3, rule))


# Where two words and more are drafted, the first rule, which leaves three of each, takes long to enumerate.
@pytest.mark.parametrize(
    ("how", "rule", "n_draft"),
    [(*one, n_draft) for one in RULES for n_draft in (0, 1, 2, 5) if one is not RULES[0] or n_draft < 2],
)
def test_a_draft_changes_no_probability(how, rule, n_draft):
    model, draft = small(len(WORDS)), small(len(WORDS), seed=1)
    start = [0, WORDS.index("saw")]
    how = how | {"draft": draft, "n_draft": n_draft}
    found = every_way(lambda: tuple(generate(model, torch.tensor([start]), 3, **how)[0].tolist()))
    same(found, by_definition(model, start, 3, rule))


@pytest.mark.parametrize(
    "other", [{}, {"use_cache": False}, {"window": 2}, {"window": 2, "use_cache": False}, {"eos_token_id": 2}]
)
def test_whatever_else_is_asked_a_draft_changes_no_probability(other):
    model, draft, start = small(4), small(4, seed=1), torch.tensor([[3, 1, 0]])
    how = {"temperature": 1.0, "top_k": 2} | other
    want = every_way(lambda: tuple(generate(model, start, 3, **how)[0].tolist()))
    found = every_way(lambda: tuple(generate(model, start, 3, draft=draft, n_draft=2, **how)[0].tolist()))
    assert any(2 in text[3:-1] for text in want)
    same(found, want)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_padded_batch_with_a_draft_writes_what_each_prompt_writes_alone(scheme):
    model, draft = small(scheme=scheme), small(seed=1, scheme=scheme)
    ids, real = padded([[3], [5, 1, 6, 2], [4, 4]])
    want = generate(model, ids, 6, key_mask=real)
    assert torch.equal(generate(model, ids, 6, key_mask=real, draft=draft, n_draft=2), want)
    assert generate(model, ids[:0], 6, draft=draft).shape == (0, 10)
    assert generate(model, ids, 0, draft=draft).equal(ids)


def test_texts_of_a_batch_are_drawn_one_by_one_and_a_seed_says_how():
    model, draft = small(), small(seed=1)
    ids = torch.tensor([[3, 1], [3, 1], [5, 2]])

    def written(seed, prompts=ids):
        draw = torch.Generator().manual_seed(seed)
        return generate(model, prompts, 8, temperature=1.0, draft=draft, generator=draw)

    texts = written(0)
    assert torch.equal(written(0), texts)
    assert not torch.equal(written(1), texts)
    assert not torch.equal(texts[0], texts[1])
    assert torch.equal(written(0, ids[:1]), texts[:1])
    model.train()
    written(0)
    assert model.training
    assert not draft.training


def test_where_a_text_has_ended_nothing_is_read_any_more():
    model, draft, calls = small(), small(seed=1), []
    model.register_forward_hook(lambda *_: calls.append("model"))
    ids = torch.tensor([[3, 2], [5, 2]])  # both have ended
    for how in ({}, {"draft": draft}):
        assert generate(model, ids, 4, eos_token_id=2, **how).tolist() == [
            [3, 2, 2, 2, 2, 2],
            [5, 2, 2, 2, 2, 2],
        ]
    assert not calls
    generate(model, torch.tensor([[3, 2], [5, 0]]), 4, eos_token_id=2)
    assert calls


def test_accept_or_resample_has_the_wanted_probabilities_for_any_draft():
    rows = [0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]
    p = torch.tensor(rows, dtype=torch.float64)
    for rows in ([[0.1, 0.1, 0.3, 0.5], [0.4, 0.3, 0.2, 0.1]], [[0, 0, 0, 1], [1, 0, 0, 0]]):
        q = torch.tensor(rows, dtype=torch.float64)

        def run(q=q):
            drafted = torch.cat([samplers.draw(row[None])[0] for row in q])
            return tuple(accept_or_resample(drafted, q, p).tolist())

        found = every_way(run)
        first = Counter()
        kept = 0.0  # how many words are kept on average
        for words, chance in found.items():
            first[words[0]] += chance
            kept += chance * (len(words) - 1)
        assert all(abs(first[word] - p[0, word]) < 1e-12 for word in range(4))
        both = torch.minimum(p[:2], q).sum(-1)
        assert abs(kept - (both[0] + both[0] * both[1])) < 1e-12


def test_a_draft_of_its_own_is_always_kept_and_a_greedy_one_is_checked_word_by_word():
    model, draft, prompt = small(), small(seed=1), torch.tensor([[3, 1]])
    found = speculate(model, model, prompt, 12, n_draft=3, temperature=1.0)
    assert (found.steps, found.drafted, found.accepted) == (3, 9, 9)
    found = speculate(model, draft, prompt, 12, n_draft=3)
    assert torch.equal(found.ids, generate(model, prompt, 12))
    assert found.steps + found.accepted == 12
    assert speculate(model, draft, prompt, 0).ids.equal(prompt)


# Equal ways to the same text.


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("use_cache", [True, False])
def test_a_padded_batch_writes_what_each_prompt_writes_alone(scheme, use_cache):
    model = small(scheme=scheme)
    prompts = [[3], [5, 1, 6, 2], [4, 4]]
    ids, real = padded(prompts)
    written = generate(model, ids, 6, key_mask=real, use_cache=use_cache)
    for row, prompt in enumerate(prompts):
        assert torch.equal(written[row, 4:], generate(model, torch.tensor([prompt]), 6)[0, len(prompt) :])


def scores_of_padded(model, prompt, *, right=False, hide=True, place=True):
    """Score the word after a prompt with three words of padding."""
    n = len(prompt)
    ids = torch.tensor([[*prompt, 0, 0, 0] if right else [0, 0, 0, *prompt]])
    real = torch.tensor([[True] * n + [False] * 3 if right else [False] * 3 + [True] * n])
    added = model.stack.positions in ("learned", "sinusoidal")  # others know distances alone
    position_ids = (real.cumsum(-1) - 1).clamp(min=0) if place and added else None
    return model(ids, key_mask=real if hide else None, position_ids=position_ids)[0, -1].detach()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_goes_wrong_with_padding(scheme):
    """On the left, hidden, and in its own places a prompt is what it is alone; else it is not."""
    model, prompt = small(scheme=scheme), [5, 1, 6, 2]
    alone = model(torch.tensor([prompt]))[0, -1].detach()

    def off(**how):
        return float((scores_of_padded(model, prompt, **how) - alone).abs().max())

    assert off() < 1e-12
    assert off(hide=False) > 1e-3  # the padding is read as words
    assert off(right=True) > 1e-3  # the last place is padding: it is asked what comes after padding
    moved = off(place=False)  # positions that are added count the padding; others only know distances
    assert (moved > 1e-3) == (scheme in ("learned", "sinusoidal"))


@pytest.mark.parametrize("scheme", ["none", "learned", "sinusoidal", "rotary"])
@pytest.mark.parametrize("window", [1, 3, 5, 20])
def test_a_rolling_cache_writes_what_a_window_over_all_words_writes(scheme, window):
    model = small(scheme=scheme)
    ids = torch.randint(7, (2, 5), generator=torch.Generator().manual_seed(0))
    written = generate(model, ids, 9, window=window)
    assert torch.equal(written, generate(model, ids, 9, window=window, use_cache=False))
    for n in range(5, 14):
        seen = model(written[:, :n], mask=masks.window(n, window - 1, 0))
        assert torch.equal(written[:, n], seen[:, -1].argmax(-1))


def test_a_rolling_cache_and_padding_together():
    model = small()
    ids, real = torch.tensor([[0, 0, 0, 3], [5, 1, 6, 2]]), torch.tensor([[False] * 3 + [True], [True] * 4])
    written = generate(model, ids, 8, key_mask=real, window=3)
    assert torch.equal(written[:1, 4:], generate(model, torch.tensor([[3]]), 8, window=3)[:, 1:])


def test_a_text_that_has_ended_stays_so():
    model = small()
    ids = torch.arange(7)[:, None]
    free, ended = generate(model, ids, 12), generate(model, ids, 12, eos_token_id=2)
    for row, want in zip(ended.tolist(), free.tolist(), strict=True):
        if 2 in want:
            at = want.index(2)
            assert row == want[:at] + [2] * (13 - at)
        else:
            assert row == want
    assert (ended[:, -1] == 2).any()


# Beams.


@pytest.mark.parametrize("end", [None, 2])
def test_enough_beams_find_the_best_text_and_one_is_greedy(end):
    for seed in range(4):
        model, start = small(4, seed=seed), torch.tensor([[0, 3]])
        every = {}
        for new in itertools.product(range(4), repeat=4):
            if end is not None and end in new and set(new[new.index(end) :]) != {end}:
                continue
            logs = model(torch.tensor([[0, 3, *new]])).log_softmax(-1)[0].detach()
            last = new.index(end) if end is not None and end in new else 3
            every[new] = sum(float(logs[1 + at, new[at]]) for at in range(last + 1))
        ids, total = beam_search(model, start, 4, num_beams=256, eos_token_id=end)
        best = sorted(every.values(), reverse=True)
        assert len(ids) == len(every)
        assert torch.allclose(total, torch.tensor(best, dtype=torch.float64), atol=1e-10)
        assert [tuple(row) for row in ids[:, 2:].tolist()] == sorted(every, key=every.get, reverse=True)
        greedy, _ = beam_search(model, start, 4, num_beams=1, eos_token_id=end)
        assert torch.equal(greedy, generate(model, start, 4, eos_token_id=end))


def test_a_model_with_shared_heads_starts_from_the_mean_of_its_own():
    model = small(n_kv_heads=2)
    ids = torch.randint(7, (2, 5))
    assert torch.allclose(model.grouped(2)(ids), model(ids), atol=1e-12)
    one = model.grouped(1).eval()
    layer, theirs = one.stack.layers[1].attention, model.stack.layers[1].attention
    assert torch.allclose(layer.k_proj.weight, theirs.k_proj.weight.unflatten(0, (2, 4)).mean(0))
    assert torch.equal(generate(one, ids, 6), generate(one, ids, 6, use_cache=False))
    assert model.stack.layers[1].attention.n_kv_heads == 2
    one.stack.layers[0].ffn.in_proj.weight.data.zero_()
    assert model.stack.layers[0].ffn.in_proj.weight.any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, ids: generate(m, ids[:, :0], 1), "n at least 1, got"),
        (lambda m, ids: generate(m, ids, -1), "max_new_tokens must be at least 0, got -1"),
        (lambda m, ids: generate(m, ids, 1, temperature=-1.0), "temperature must be at least 0, got -1.0"),
        (
            lambda m, ids: generate(m, ids, 1, temperature=float("nan")),
            "temperature must be at least 0, got nan",
        ),
        (
            lambda m, ids: generate(m, ids, 1, eos_token_id=7),
            "eos_token_id must be the number of a word, 0 to 6, got 7",
        ),
        (
            lambda m, ids: generate(m, ids, 1, eos_token_id=-1),
            "eos_token_id must be the number of a word, 0 to 6, got -1",
        ),
        (
            lambda m, ids: beam_search(m, ids[:1], 1, 2, eos_token_id=9),
            "eos_token_id must be the number of a word, 0 to 6, got 9",
        ),
        (
            lambda m, ids: speculate(m, m, ids[:1], 1, eos_token_id=9),
            "eos_token_id must be the number of a word, 0 to 6, got 9",
        ),
        (lambda m, ids: m(ids + 4), "ids must lie within the 7 words, 0 to 6, got 5 to 8"),
        (lambda m, ids: m(ids - 2), "ids must lie within the 7 words, 0 to 6, got -1 to 2"),
        (lambda m, ids: generate(m, ids, 1, top_k=0), "^top_k must be at least 1, got 0"),
        (
            lambda m, ids: generate(m, ids, 1, top_p=1.5),
            "^top_p must be larger than 0 and at most 1, got 1.5",
        ),
        (
            lambda m, ids: generate(m, ids, 1, min_p=0.0),
            "^min_p must be larger than 0 and at most 1, got 0.0",
        ),
        (lambda m, ids: generate(m, ids, 1, window=0), "window must be at least 1, got 0"),
        (
            lambda m, ids: generate(m, ids, 1, key_mask=torch.tensor([[True, False]] * 2)),
            "padded on the left",
        ),
        (lambda m, ids: generate(m, ids, 1, key_mask=torch.ones(2, 3).bool()), "the shape of ids"),
        (
            lambda m, ids: generate(small(scheme="alibi"), ids, 1, window=2),
            "keeps no order, which positions = 'alibi' need",
        ),
        (lambda m, ids: beam_search(m, ids, 1, 2), "one prompt at a time"),
        (lambda m, ids: beam_search(m, ids[:1], 1, 0), "num_beams must be at least 1, got 0"),
        (lambda m, ids: speculate(m, m, ids, 1), r"ids must have shape \(1, n\)"),
        (lambda m, ids: speculate(m, m, ids[:1], 1, window=0), "window must be at least 1, got 0"),
        (lambda m, ids: generate(m, ids, 1, draft=m, n_draft=-1), "n_draft must be at least 0, got -1"),
        (lambda m, ids: generate(m, ids, 1, draft=small(5)), "the model's 7 words and no others, it knows 5"),
        (
            lambda m, ids: generate(m, ids, 1, draft=m, key_mask=torch.tensor([[True, False]] * 2)),
            "padded on the left",
        ),
        (
            lambda m, ids: accept_or_resample(ids[0], torch.ones(2, 3), torch.ones(2, 3)),
            "for 2 words drafted",
        ),
        (lambda m, ids: m.grouped(3), "n_kv_heads must divide 2, got 3"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call(small(), torch.tensor([[1, 2], [3, 4]]))


def test_unknown_rules_and_masks_of_numbers_are_refused():
    with pytest.raises(TypeError, match="the rules are top_k, top_p, min_p; got top_q"):
        distribution(torch.zeros(3), top_q=2)
    with pytest.raises(TypeError, match="key_mask must be a boolean tensor"):
        generate(small(), torch.tensor([[1, 2]]), 1, key_mask=torch.ones(1, 2))


def test_writing_leaves_every_part_in_the_mode_that_it_had():
    model = small().train()
    model.stack.layers[0].eval()
    before = [part.training for part in model.modules()]
    generate(model, torch.tensor([[1, 2]]), 2)
    assert [part.training for part in model.modules()] == before


def test_all_words_stay_where_their_whole_share_is_kept():
    p = (4 * torch.randn(20, 5000, generator=torch.Generator().manual_seed(0))).softmax(-1)
    assert torch.equal(top_p(p, 1.0) > 0, p > 0)
    assert torch.equal(distribution(p.log(), top_p=1) > 0, p > 0)
