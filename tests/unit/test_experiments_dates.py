"""The date task: answers against a reader of its own, alignments that hold, encodings that come back."""

import random
import re
from datetime import date, timedelta

import pytest
import torch
from tqdm import trange

from attnbook.experiments import Translation, dates, fitting, translation

EVERY_FORM = [(form, a, p) for form in dates.FORMS for a in (False, True) for p in (False, True)]
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
UNITS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
WORDS = {unit: at for at, unit in enumerate(UNITS, 1)}
WORDS |= {f"twenty-{unit}": 20 + at for unit, at in WORDS.items()} | {"thirty-first": 31}
WORDS |= {"tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15}
WORDS |= {"sixteenth": 16, "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20}
WORDS |= {"thirtieth": 30}


def read(text):
    """Understand a date without the grammar: by its separators, names and the size of its numbers."""
    numbers = [int(x) for x in re.findall(r"\d+", text)]
    if "/" in text:
        month, day, year = numbers
    elif "." in text:
        day, month, year = numbers
    else:
        name = next(w for w in re.findall(r"[a-z]+", text) if w[:3] in MONTHS)
        month = MONTHS.index(name[:3]) + 1
        spelled = [WORDS[w] for w in re.findall(r"[a-z-]+", text) if w in WORDS]
        day, year = (spelled[0], numbers[0]) if spelled else numbers
        if day > 1000:
            day, year = year, day
    if year < 100:
        year += 2000 if year < 50 else 1900
    return date(year, month, day)


def some_days(count=60):
    source = random.Random(3)
    span = (dates.LAST - dates.FIRST).days
    return [dates.FIRST, dates.LAST, *(dates.FIRST + timedelta(source.randrange(span)) for _ in range(count))]


@pytest.mark.parametrize(("form", "abbreviate", "pad"), EVERY_FORM)
def test_what_is_written_can_be_read_by_somebody_else(form, abbreviate, pad):
    for day in some_days():
        pair = dates.write(day, form, abbreviate=abbreviate, pad=pad)
        assert read(pair.text) == day, pair.text
        assert pair.iso == day.isoformat()


@pytest.mark.parametrize(("form", "abbreviate", "pad"), EVERY_FORM)
def test_each_digit_knows_the_characters_that_made_it(form, abbreviate, pad):
    for day in some_days():
        pair = dates.write(day, form, abbreviate=abbreviate, pad=pad)
        sources = ["".join(pair.text[i] for i in places) for places in pair.made]
        assert [bool(words) for words in sources] == [c != "-" for c in pair.iso]
        year, month, day_of_month = sources[:4], sources[5:7], sources[8:]
        # Each of these is enough, by itself, to say what the digits are.
        if len(year[0]) == 1:
            assert "".join(year) == pair.iso[:4]
        else:
            assert year == [pair.iso[2:4]] * 2 + list(pair.iso[2:4])
        for words, digits in ((month, pair.iso[5:7]), (day_of_month, pair.iso[8:])):
            if words[0].isdigit() and words[0] != words[1]:
                assert "".join(words) == digits
            elif words[0].isdigit():
                assert int(words[0]) == int(digits) or (len(words[0]) == 1 and words[0] * 2 == digits)
            elif words is month:
                assert MONTHS.index(words[0][:3]) + 1 == int(digits)
            else:
                assert WORDS[words[0]] == int(digits)


def test_several_dates_keep_their_alignments():
    for pair in dates.draw(20, 3, random.Random(0)):
        assert len(pair.iso.split(" ")) == 3
        assert len(pair.made) == len(pair.iso) == 32
        where = [min(i for places in pair.made[a : a + 10] for i in places) for a in (0, 11, 22)]
        assert where == sorted(where)
    assert dates.draw(3, 2, random.Random(1)) == dates.draw(3, 2, random.Random(1))
    assert dates.draw(3, 2, random.Random(1)) != dates.draw(3, 2, random.Random(2))


def test_texts_become_numbers_and_come_back():
    texts = [pair.text for pair in dates.draw(50, 2, random.Random(0))]
    numbers = dates.encode(texts)
    assert ["".join(dates.SOURCE[i] for i in row if i) for row in numbers] == texts
    wanted = [pair.iso for pair in dates.draw(50, 2, random.Random(0))]
    tokens = dates.answers(wanted)
    assert (tokens[:, 0] == dates.START).all()
    assert (tokens[:, -1] == dates.END).all()
    assert dates.decode(tokens[:, 1:]) == wanted
    with pytest.raises(ValueError, match="lower-case"):
        dates.encode(["3 May 1984"])
    with pytest.raises(ValueError, match="form must be one of"):
        dates.write(date(1984, 5, 3), "yesterday")
    with pytest.raises(ValueError, match="day must be from 1950-01-01"):
        dates.write(date(1884, 5, 3), "3 may 1984")


def test_shares_are_counted_as_they_say():
    pairs = [dates.join([dates.write(date(1984, 5, 3), "thu, 3 may 1984")] * 2, [" to "])]
    assert dates.right(["1984-05-03 1984-05-03"], pairs) == 1
    assert dates.right(["1984-05-03"], pairs) == 0.5
    assert dates.right(["1984-05-04 1984-05-03 1984-05-03"], pairs) == 0.5
    assert dates.right([""], pairs) == 0
    weights = torch.zeros(1, 21, len(pairs[0].text))
    for at, places in enumerate(pairs[0].made):
        for i in places:
            weights[0, at, i] = 1 / len(places)
    assert dates.aligned(weights, pairs) == pytest.approx(1)
    beside = torch.cat((weights[..., 1:], weights[..., :1]), -1)  # each one character too early
    assert dates.aligned(beside, pairs) < 0.5
    assert dates.aligned(beside, pairs, around=1) == pytest.approx(1)
    longer = torch.cat((weights, torch.full((1, 3, weights.shape[-1]), 9.0)), 1)  # rows past the answer
    assert dates.aligned(longer, pairs) == pytest.approx(1)


def test_a_bar_shows_how_far_one_training_is_and_none_does_within_a_sweep(monkeypatch):
    asked = []
    monkeypatch.setattr(fitting, "trange", lambda *n, **how: asked.append(how) or trange(*n, **how))
    task = Translation("general", {"d_embed": 4, "d_hidden": 4}, steps=2, every=1)
    task.train(0.02, seed=0)
    task(0.02, seed=0)
    assert [(how["disable"], how["delay"]) for how in asked] == [(False, 2), (True, 2)]


def test_a_model_learns_from_scratch_and_writes_what_it_learned():
    how = {"options": {"d_hidden": 24, "d_embed": 12}, "train_on": (1,), "test_on": (1,)}
    task = Translation("general", steps=120, every=60, **how)
    model, run = task.train(0.02, seed=0)
    assert run.curve == task(0.02, seed=0).curve
    begun, _ = Translation("general", steps=1, every=1, **how).train(0.02, seed=0)
    texts = [pair.text for pair in dates.draw(20, 1, random.Random(5))]

    def like_a_date(model):
        return sum(bool(re.fullmatch(r"\d{4}-\d\d-\d\d", a)) for a in translation.write(model, texts)[0])

    assert like_a_date(model) > 10
    assert like_a_date(begun) == 0
    answers, weights = translation.write(model, texts)
    for answer, row, text in zip(answers, weights, texts, strict=True):
        assert row.shape == (len(answer), len(text))
        torch.testing.assert_close(row.sum(-1), torch.ones(len(answer)))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_text_of_a_test_is_learned_from(seed, monkeypatch):
    """Three weeks have so few texts that tests drawn without a look at the lessons would share many."""
    monkeypatch.setattr(dates, "LAST", dates.FIRST + timedelta(20))
    learned, tested, encode = [], [], dates.encode

    def measure(model, pairs):
        tested.append({pair.text for pair in pairs})
        return {"right": 0.0, "aligned": 0.0}

    monkeypatch.setattr(translation, "measure", measure)
    monkeypatch.setattr(dates, "encode", lambda texts: learned.extend(texts) or encode(texts))
    task = Translation("fixed", {"d_embed": 4, "d_hidden": 4}, train_on=(1,), test_on=(1,), steps=4, every=4)
    task(0.01, seed)
    dev, test = tested
    assert set(learned) == task.known(seed)
    assert len(learned) == 4 * 32
    assert dev.isdisjoint(learned)
    assert test.isdisjoint(learned)
    assert test.isdisjoint(dev)


def test_no_training_draws_what_a_test_is_drawn_from():
    """Before known texts are dropped, a training and a test share a few by chance, not a whole drawing."""
    task = Translation("fixed", train_on=(1,), steps=4)
    tests = translation.new(100, 1, translation._TEST, ())
    for seed in (0, 1, 2, translation._SEEDS - 1):
        shared = task.known(seed) & {pair.text for pair in tests}
        assert len(shared) < 5
    for seed in (-1, translation._SEEDS):
        with pytest.raises(ValueError, match="seed must be from 0 to 9999"):
            task(0.01, seed)


def test_new_texts_are_as_many_as_asked_for_and_none_is_known():
    known = {pair.text for pair in dates.draw(90, 2, random.Random(7))}
    found = translation.new(100, 2, 7, known)
    assert len(found) == 100
    assert known.isdisjoint(pair.text for pair in found)
    assert found == translation.new(100, 2, 7, known)
