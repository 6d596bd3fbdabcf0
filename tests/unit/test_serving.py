"""The server: every word once; against a simulation by single tokens, by hand, and the pages of a drawing."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from attnbook.drawings.serving import tables
from attnbook.experiments.serving import H100, Machine, Pages, Request, Server, trace
from attnlab.transformer.shapes import PUBLISHED, Shape

ONE = Shape(1, 1, 1, 1, 1, 1, 1)  # a step reads its 11 numbers, 22 bytes; a token takes 4 in the cache
TOY = Server(ONE, Machine(operations=2.0, bandwidth=1.0, memory=10_000.0), longest=64)
RULES = {
    "static": replace(TOY, places=3, static=True),
    "continuous": replace(TOY, places=3),
    "little room": replace(TOY, room=130),
    "pages": replace(TOY, page=4, room=80),
    "shared": replace(TOY, page=4, room=80, sharing=True),
    "pieces": replace(TOY, page=4, room=96, piece=7),
    "pieces, shared": replace(TOY, page=2, room=80, piece=5, sharing=True, places=6),
    "all": replace(TOY, places=4, page=16, room=160, piece=3, sharing=True),
}


def requests(seed, n=12, apart=40):
    """Requests at whole seconds: all times of the toy are sums of halves, so that floats are exact."""
    draw, at, found = random.Random(seed), 0, []
    for _ in range(n):
        at += draw.randrange(apart) if apart else 0
        shared = draw.choice([0, 6, 9])
        found.append(
            Request(float(at), shared + draw.randint(1, 12), draw.randint(1, 20), draw.randrange(2), shared)
        )
    return found


def one_by_one(server, asked):
    """Serve token by token: the memory is written down cell by cell, and counted by going through it."""
    size = server.page or server.longest
    room = server.room or int(server.machine.memory - 2 * server.shape.parameters) // 4
    owners = {page: [] for page in range(room // size)}  # page -> texts
    cells = {}  # (text, place) -> page
    first = {}  # (beginning, page of it) -> page
    done = [[] for _ in asked]  # times of words
    seen = [0] * len(asked)
    here, queue, clock, steps, lost = [], list(range(len(asked))), 0.0, [], 0

    def needs(text):
        return asked[text].prompt + len(done[text]) - seen[text]

    def forget(text):
        for page, texts in owners.items():
            if text in texts:
                texts.remove(text)
                if not texts:
                    for key in [key for key, value in first.items() if value == page]:
                        del first[key]
        for key in [key for key in cells if key[0] == text]:
            del cells[key]

    def place(text, until):
        free = [page for page, texts in owners.items() if not texts]
        held = 1 + max((at for whose, at in cells if whose == text), default=-1)
        wanted = range(held // size, (until + size - 1) // size)
        plan = {}
        for page in wanted:
            if held:
                plan[page] = None
                continue
            whole = (page + 1) * size <= asked[text].shared and server.sharing
            plan[page] = first.get((asked[text].beginning, page)) if whole else None
        if sum(page is None for page in plan.values()) > len(free):
            return None
        found = 0
        for page, known in plan.items():
            found += known is not None
            own = free.pop() if known is None else known
            owners[own].append(text)
            for at in range(page * size, (page + 1) * size):
                cells[text, at] = own
            if not held and server.sharing and (page + 1) * size <= asked[text].shared:
                first[asked[text].beginning, page] = own
        return found * size

    while queue or here:
        may = not (server.static and here)
        if not here:
            batch = queue[: server.places] if server.static else queue[:1]
            clock = max([clock, *(asked[text].arrival for text in batch)])
        left = (
            10**9 if server.piece is None else max(0, server.piece - sum(needs(text) == 1 for text in here))
        )
        reads = {}
        for text in list(here):
            while text in here:
                new = 1 if needs(text) == 1 else min(needs(text), left)
                if place(text, seen[text] + new) is not None:
                    reads[text] = new
                    left -= new if needs(text) > 1 else 0
                    break
                gone = here.pop()
                forget(gone)
                queue.insert(0, gone)
                seen[gone], may, lost = 0, False, lost + 1
        while (
            may
            and queue
            and left
            and asked[queue[0]].arrival <= clock
            and len(here) < (server.places or 10**9)
        ):
            text = queue[0]
            found = place(text, needs(text))
            if found is None:
                break
            seen[text] = found
            reads[queue.pop(0)] = min(needs(text), left)
            left -= reads[text]
            here.append(text)
        wait = sum(asked[text].arrival <= clock for text in queue)
        moved, operations = 22, 0
        for text, new in reads.items():
            moved += sum(4 for _ in range(seen[text] + new)) if new else 0
            for at in range(seen[text], seen[text] + new):
                operations += 22 + 4 * len(range(at + 1))
        seconds = max(moved, operations / 2)
        clock += seconds
        for text, new in reads.items():
            seen[text] += new
            if not needs(text):
                done[text].append(clock)
        # A place in a page counts once, whoever put a token there.
        held = {(cells[text, at], at % size) for text in here for at in range(seen[text])}
        used = sum(bool(texts) for texts in owners.values())
        steps.append((seconds, len(here), sum(reads.values()), wait, len(held), used * size))
        for text in list(here):
            if len(done[text]) == asked[text].answer:
                here.remove(text)
                forget(text)
    return done, steps, lost


def told(run):
    shown = [(one.seconds, one.texts, one.tokens, one.waiting, one.held, one.reserved) for one in run.steps]
    return [list(times) for times in run.times], shown, run.evicted


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("apart", [0, 40, 400])
def test_all_counts_are_those_of_a_simulation_by_single_tokens(name, apart):
    for seed in range(6):
        asked = requests(seed, apart=apart)
        assert told(RULES[name].run(asked)) == one_by_one(RULES[name], asked)


def test_where_pages_run_out_somebody_begins_anew_and_that_was_tried():
    lost = {name: sum(rule.run(requests(seed)).evicted for seed in range(6)) for name, rule in RULES.items()}
    assert all(lost[name] > 0 for name in ("pages", "shared", "pieces", "pieces, shared"))
    assert lost["static"] == lost["continuous"] == lost["little room"] == 0


@pytest.mark.parametrize("name", RULES)
def test_every_word_is_written_exactly_once_and_after_the_one_before(name):
    for seed in range(6):
        asked = requests(seed)
        run = RULES[name].run(asked)
        assert [len(times) for times in run.times] == [one.answer for one in asked]
        for one, times, wait in zip(asked, run.times, run.waits, strict=True):
            assert list(times) == sorted(set(times))
            assert times[0] - one.arrival == wait > 0
        read = sum(step.tokens for step in run.steps)
        needed = sum(one.prompt + one.answer - 1 for one in asked)
        if not (run.evicted or RULES[name].sharing):
            assert read == needed
        elif not RULES[name].sharing:
            assert read > needed


def test_three_requests_by_hand():
    asked = [Request(0, 2, 1), Request(0, 1, 3), Request(0, 1, 2)]
    # Bytes: 22 and 4 a token in reach. Seconds of arithmetic: 11 a token and 2 a pair.
    # 1. Prompts of A and B: 34 bytes; 3 tokens and 3 + 1 pairs, 41. A ends.
    # 2. B's second word, C's prompt: 22 + 8 + 4 = 34 bytes; 2 tokens and 3 pairs, 28.
    # 3. B's third, C's second: 22 + 12 + 8 = 42 bytes; 2 tokens and 5 pairs, 32.
    run = replace(TOY, places=2).run(asked)
    assert run.times == [[41], [41, 75, 117], [75, 117]]
    assert run.waits == [41, 41, 75]
    assert [step.seconds for step in run.steps] == [41, 34, 42]
    assert (run.idle, run.missed, run.most, run.pause) == (0, 0, 2, 42)
    assert (run.wait(0.5), run.wait(0.9), run.speed(), run.speed(75)) == (41, 75, 6 / 117, 4 / 75)
    # Static: B goes on alone (30 and 34 bytes) while C waits. Then C alone (26 and 30).
    run = replace(TOY, places=2, static=True).run(asked)
    assert run.times == [[41], [41, 71, 105], [131, 161]]
    assert [step.seconds for step in run.steps] == [41, 30, 34, 26, 30]
    assert (run.idle, run.missed, run.pause) == (4 / 10, 2 / 10, 34)
    # Held: 2 + 1, then 2 and 3 of B, then 1 and 2 of C; reserved 64 for each text that is there.
    assert run.filled == (3 + 2 + 3 + 1 + 2) / (64 * (2 + 1 + 1 + 1 + 1))


def test_with_one_request_all_rules_agree():
    for seed in range(4):
        asked = requests(seed, n=1)
        wanted = TOY.run(asked).times
        others = [replace(rule, piece=rule.piece and 64) for rule in RULES.values()]
        assert all(rule.run(asked).times == wanted for rule in others)


@pytest.mark.parametrize("places", [1, 2, 3, 5])
def test_where_all_are_there_continuous_batches_take_no_more_steps_and_miss_no_place(places):
    for seed in range(10):
        asked = requests(seed, n=17, apart=0)
        one = replace(TOY, places=places).run(asked)
        other = replace(TOY, places=places, static=True).run(asked)
        assert len(one.steps) <= len(other.steps)
        assert one.missed == 0
        answers = [request.answer for request in asked]
        batches = [answers[at : at + places] for at in range(0, 17, places)]
        assert len(other.steps) == sum(map(max, batches))
        assert other.idle == pytest.approx(1 - sum(answers) / (places * sum(map(max, batches))), abs=1e-12)
        ends = [0] * places  # of the places: the next text takes the first that is free
        for answer in answers:
            at = ends.index(min(ends))
            ends[at] += answer
        assert len(one.steps) == max(ends)


def test_where_requests_come_late_continuous_batches_may_take_more_steps():
    asked = [Request(0, 1, 3), Request(1000, 1, 3)]
    assert len(replace(TOY, places=2).run(asked).steps) == 6
    assert len(replace(TOY, places=2, static=True).run(asked).steps) == 3


def test_pages_are_those_of_the_drawing():
    draw = random.Random(0)
    for _ in range(30):
        beginnings = [[(b, at) for at in range(30)] for b in range(3)]
        texts, said = [], []
        for which in range(draw.randint(1, 6)):
            b, shared = draw.randrange(3), draw.randrange(20)
            own = draw.randint(1, 20)
            texts.append([*beginnings[b][:shared], *((which, "own", at) for at in range(own))])
            said.append((b, shared, len(texts[-1])))
        pages = Pages(room=1000, size=4)
        for which, (b, shared, n) in enumerate(said):
            assert pages.grow(which, n, b, shared)
        wanted = tables(texts, 4, range(250))
        assert list(pages.tables.values()) == wanted
        assert pages.spared == 4 * (sum(map(len, wanted)) - len({page for table in wanted for page in table}))


def test_no_page_is_lost_and_none_is_held_twice():
    draw, pages, here = random.Random(1), Pages(room=203, size=5), {}
    refused = 0
    for step in range(3000):
        if here and draw.random() < 0.3:
            pages.release(gone := draw.choice(sorted(here)))
            del here[gone]
        elif here and draw.random() < 0.5:
            text = draw.choice(sorted(here))
            n = here[text] + draw.randrange(12)
            refused += not (given := pages.grow(text, n))
            here[text] = n if given else here[text]
        else:
            n, shared = draw.randint(1, 40), draw.randrange(25)
            refused += not (given := pages.grow(step, n, draw.randrange(2), shared))
            here |= {step: n} if given else {}
        used = Counter(page for table in pages.tables.values() for page in table)
        assert used == pages.texts
        assert sorted([*used, *pages.free]) == list(range(40))
        assert all(
            len(set(table)) == len(table) == -(-here[text] // 5) for text, table in pages.tables.items()
        )
        assert pages.spared == 5 * sum(n - 1 for n in used.values())
    assert refused > 100
    for text in sorted(here):
        pages.release(text)
    assert sorted(pages.free) == list(range(40))


def test_pieces_bound_a_step_and_neither_a_word_nor_a_prompt_is_lost():
    asked = requests(3, n=20, apart=0)
    run = replace(TOY, piece=8).run(asked)
    whole = TOY.run(asked)
    assert max(step.tokens for step in run.steps) <= max(8, max(step.texts for step in run.steps))
    assert max(step.tokens for step in whole.steps) > 100
    assert sum(step.tokens for step in run.steps) == sum(step.tokens for step in whole.steps)
    assert run.pause < whole.pause


@pytest.mark.parametrize("name", ["Llama 3 8B", "Llama 2 7B"])
@pytest.mark.parametrize("kept", [1, 50])
def test_at_the_crossing_computing_takes_as_long_as_reading(name, kept):
    server = Server(PUBLISHED[name])
    texts = int(server.crossing(kept))
    below, above = (server.times([(kept - 1, 1)] * n) for n in (texts, texts + 1))
    assert below[0] >= below[1]
    assert above[0] <= above[1]


def test_behind_some_length_no_batch_is_enough():
    server = Server()
    assert server.crossing(393) < float("inf") == server.crossing(394)
    reads, computes = server.times([(393, 1)] * 10**5)
    assert reads > computes
    assert server.work([])[0] == 2 * server.shape.read_each_step
    assert H100.operations / H100.bandwidth == pytest.approx(295.2, abs=0.1)


def test_the_memory_is_what_the_weights_leave():
    server = Server(page=16)
    left = 80 * 10**9 - 2 * 8_030_261_248
    assert len(server.memory().free) == left // (32 * 2 * 8 * 128 * 2) // 16
    assert len(Server().memory().free) == left // (32 * 2 * 8 * 128 * 2) // 8192


def test_a_trace_is_drawn_from_its_seed_and_most_of_it_is_short():
    one, other = trace(500, 2.0, seed=3), trace(500, 8.0, seed=3)
    assert one == trace(500, 2.0, seed=3) != trace(500, 2.0, seed=4)
    assert [replace(a, arrival=0) for a in one] == [replace(a, arrival=0) for a in other]
    assert [a.arrival for a in one] == pytest.approx([4 * a.arrival for a in other])
    assert one[-1].arrival == pytest.approx(250, rel=0.2)
    answers = sorted(a.answer for a in one)
    assert sum(answers[-50:]) > 0.3 * sum(answers)  # a tenth of the texts
    assert all(a.prompt + a.answer <= 8192 and a.shared < a.prompt for a in one)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Server(static=True), "places"),
        (lambda: Server(places=0), "places"),
        (lambda: Server(PUBLISHED["Mistral 7B"]), "window"),
        (lambda: Request(0, 0, 1), "prompt"),
        (lambda: Request(0, 4, 1, shared=4), "shared"),
        (lambda: TOY.run([Request(0, 60, 5)]), "fit into 64"),
        (lambda: TOY.run([Request(1, 2, 1), Request(0, 2, 1)]), "order"),
    ],
)
def test_what_cannot_be_is_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()


@pytest.mark.parametrize("seed", range(10))
def test_what_the_chapter_says_of_its_rules_holds_in_ten_traces(seed):
    asked = trace(400, 80, seed)
    many = Server(places=59)
    shared = Server(page=16, sharing=True)
    static, whole, pages, common, pieces = runs = [
        rule.run(asked)
        for rule in (
            replace(many, static=True),
            many,
            Server(page=16),
            shared,
            replace(shared, piece=512),
        )
    ]
    speeds = [run.speed(asked[-1].arrival) for run in runs]
    assert speeds == sorted(speeds)
    assert speeds[1] > 3 * speeds[0]
    assert static.idle > 0.8
    assert static.missed > 0.6
    assert whole.missed == 0
    assert static.wait(0.9) > 10 * whole.wait(0.9) > 100 * pages.wait(0.9) > 100 * common.wait(0.9)
    # Two cannot keep up: with twice as many requests, waits are longer.
    longer = trace(800, 80, seed)
    for rule, run in ((replace(many, static=True), static), (many, whole)):
        assert rule.run(longer).wait(0.9) > 1.5 * run.wait(0.9)
    assert whole.filled < 0.1 < 0.97 < min(run.filled for run in (pages, common, pieces))
    assert pages.most > 59 + 40 > whole.most
    assert max(run.evicted for run in runs) == 0
    assert not any(step.waiting for step in pages.steps)
    # Pauses: a prompt read whole, and in pieces.
    assert min(run.pause for run in (whole, pages, common)) > 7 * pieces.pause
    # A text is done sooner in each row from pages on, so fewer are there at once.
    stays = [
        sum(words[-1] - one.arrival for words, one in zip(run.times, asked, strict=True))
        for run in (pages, common, pieces)
    ]
    assert stays == sorted(stays, reverse=True)
    assert pages.most > common.most > pieces.most
