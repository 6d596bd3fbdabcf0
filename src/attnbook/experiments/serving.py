"""A server that writes many texts with one model, step by step: exact counts, on a machine of two speeds.

A step takes the least time of the roofline: its bytes over the speed of memory or its operations over that of
arithmetic, whichever is longer. Every text in it reads what it has not read (its prompt, or the word that it
wrote last), and once it has read all, it writes a word. So reading a prompt and writing are one rule.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from attnlab.arguments import at_least
from attnlab.transformer.shapes import PUBLISHED, Shape

BYTES = 2
"""Of a number, in weights and caches."""


@dataclass(frozen=True)
class Machine:
    """An accelerator.

    Args:
        operations: multiplications and additions a second, of numbers of two bytes.
        bandwidth: bytes a second between its memory and its arithmetic.
        memory: bytes.
    """

    operations: float
    bandwidth: float
    memory: float


H100 = Machine(989e12, 3.35e12, 80e9)
"""By NVIDIA's data sheet of 2023, for SXM and bf16 without sparsity."""


@dataclass(frozen=True)
class Request:
    """What somebody asks for.

    Args:
        arrival: when, in seconds.
        prompt: its tokens.
        answer: words that the model will write. The server does not know it before.
        beginning: which of the common beginnings the prompt has.
        shared: tokens of that beginning, fewer than the prompt's.

    Raises:
        ValueError: a prompt or an answer is empty, or nothing of the prompt is its own.
    """

    arrival: float
    prompt: int
    answer: int
    beginning: int = 0
    shared: int = 0

    def __post_init__(self) -> None:
        at_least(1, prompt=self.prompt, answer=self.answer)
        if not 0 <= self.shared < self.prompt:
            raise ValueError(
                f"shared must be less than the {self.prompt} tokens of the prompt, got {self.shared}"
            )


def trace(
    n: int, rate: float, seed: int, *, beginnings: int = 4, shared: int = 256, longest: int = 8192
) -> list[Request]:
    """Draw requests: arrivals at random, prompts and answers of which most are short and a few very long.

    Args:
        n: how many.
        rate: arrivals a second. One seed brings the same requests at any rate, only sooner or later.
        seed: of the draws.
        beginnings: common beginnings; each prompt has one of them, all alike often.
        shared: tokens of a beginning.
        longest: tokens of a prompt and its answer at most.

    >>> [(one.prompt, one.answer) for one in trace(4, 1.0, seed=0)]
    [(464, 86), (367, 318), (348, 264), (340, 153)]
    """
    draw, at, found = random.Random(seed), 0.0, []

    def tail(shortest: int, heavy: float, most: int) -> int:
        return min(int(shortest * draw.paretovariate(heavy)), most)

    for _ in range(n):
        at += draw.expovariate(1.0) / rate
        prompt = shared + tail(64, 1.2, longest // 2 - shared)
        found.append(Request(at, prompt, tail(60, 1.5, longest // 4), draw.randrange(beginnings), shared))
    return found


class Pages:
    """A memory for keys and values, cut into pages.

    Args:
        room: tokens that it holds, in all.
        size: tokens of a page.

    References:
        Kwon et al. 2023, sections 4.1 to 4.4.

    >>> pages = Pages(room=64, size=16)
    >>> pages.grow("one text", 20), pages.grow("another", 40), pages.tables
    (True, False, {'one text': [0, 1]})
    """

    def __init__(self, room: int, size: int) -> None:
        self.size = size
        self.free = list(reversed(range(room // size)))
        self.tables: dict[object, list[int]] = {}
        self.texts: dict[int, int] = {}  # page -> texts that read it
        self.spared = 0
        """Tokens that would lie here once more if no page served two texts."""
        self._known: dict[tuple[int, int], int] = {}  # beginning, place in it -> page

    def there(self, beginning: int, shared: int) -> list[int]:
        """Return the pages that hold a beginning, of those that it fills; others are never shared."""
        keys = ((beginning, at) for at in range(shared // self.size))
        return [self._known[key] for key in keys if key in self._known]

    def grow(self, text: object, tokens: int, beginning: int = 0, shared: int = 0) -> bool:
        """Give a text pages until it has room for so many tokens, or, where they are not there, none.

        Args:
            text: whose they are.
            tokens: that it will hold.
            beginning: which, if the text is new.
            shared: tokens of it.
        """
        table, shared = self.tables.get(text, []), min(shared, tokens)
        found = [] if table else self.there(beginning, shared)
        more = -(-tokens // self.size) - len(table) - len(found)
        if more > len(self.free):
            return False
        taken = [*found, *(self.free.pop() for _ in range(more))]
        for page in taken:
            self.texts[page] = self.texts.get(page, 0) + 1
        if not table:
            self._known |= {(beginning, at): taken[at] for at in range(shared // self.size)}
        self.spared += len(found) * self.size
        self.tables[text] = [*table, *taken]
        return True

    def release(self, text: object) -> None:
        """Take back the pages of a text that no other text reads."""
        for page in reversed(self.tables.pop(text)):
            self.texts[page] -= 1
            if self.texts[page]:
                self.spared -= self.size
            else:
                del self.texts[page]
                self.free.append(page)
        self._known = {key: page for key, page in self._known.items() if page in self.texts}


@dataclass(frozen=True)
class Step:
    """One step: its seconds, the texts in the batch, the tokens that it reads, the requests that wait
    meanwhile, and of the memory at its end the tokens held and the places reserved."""

    seconds: float
    texts: int
    tokens: int
    waiting: int
    held: int
    reserved: int


@dataclass(frozen=True)
class Run:
    """What a server did.

    Args:
        times: for each request, when each of its words was written, in seconds.
        waits: for each, the seconds from its arrival to its first word.
        steps: one after the other.
        places: texts in a batch at most.
        evicted: how often a text lost its pages to others and had to read all again.
    """

    times: Sequence[Sequence[float]]
    waits: Sequence[float]
    steps: Sequence[Step] = field(repr=False)
    places: float
    evicted: int

    def speed(self, until: float = math.inf) -> float:
        """Return the words a second that were written until a second, without one until the last word."""
        end = min(until, max(words[-1] for words in self.times))
        return sum(bisect_right(words, end) for words in self.times) / end

    @property
    def idle(self) -> float:
        """Share of the places in which no text stood, over all steps."""
        return 1 - sum(step.texts for step in self.steps) / (self.places * len(self.steps))

    @property
    def missed(self) -> float:
        """Share of the places that stood idle although a request waited."""
        lost = sum(min(self.places - step.texts, step.waiting) for step in self.steps)
        return lost / (self.places * len(self.steps))

    @property
    def filled(self) -> float:
        """Share of the reserved memory that holds a token, over all steps."""
        return sum(step.held for step in self.steps) / sum(step.reserved for step in self.steps)

    @property
    def most(self) -> int:
        """Texts in the largest batch."""
        return max(step.texts for step in self.steps)

    def wait(self, share: float = 0.5) -> float:
        """Return the wait for the first word that this share of the requests did not exceed."""
        return sorted(self.waits)[max(math.ceil(share * len(self.waits)) - 1, 0)]

    @property
    def pause(self) -> float:
        """The longest time between two words of one text."""
        return max((b - a for words in self.times for a, b in pairwise(words)), default=0.0)


@dataclass(eq=False, slots=True)
class _Text:
    """A request under way: the tokens in its cache, those that it has to read before the next word, and the
    tokens for which it has pages."""

    request: Request
    times: list[float]
    kept: int
    unread: int
    covered: int = 0

    @classmethod
    def of(cls, request: Request) -> _Text:
        return cls(request, [], 0, request.prompt)


@dataclass(frozen=True)
class Server:
    """A model on a machine, and the rules by which texts enter a batch, stay and leave.

    Args:
        shape: the model.
        machine: what it runs on.
        longest: tokens of a prompt and its answer at most.
        places: texts in a batch at most; without, memory alone decides.
        static: a batch begins when all places can be taken, and ends with its last text. Without, a text
            leaves after its last word, and another takes its place in the next step.
        page: tokens of a page of memory. Without, a text reserves the room of the longest.
        sharing: whether a page that begins several texts alike is read and kept once, while one of them runs.
        piece: tokens of a step at most; words come first, prompts get what is left. Without, a prompt is read
            whole.
        room: tokens that all caches hold; without, what the weights leave of the memory.

    Raises:
        ValueError: static without places, a number smaller than 1, or a model whose words see a window only.

    References:
        Yu et al. 2022, section 3 (static or continuous); Kwon et al. 2023, section 4 (pages; a text without
        room begins anew, section 4.5); Agrawal et al. 2024, section 4 (pieces).
    """

    shape: Shape = PUBLISHED["Llama 3 8B"]
    machine: Machine = H100
    longest: int = 8192
    places: int | None = None
    static: bool = False
    page: int | None = None
    sharing: bool = False
    piece: int | None = None
    room: int | None = None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("longest", "places", "page", "piece", "room")}
        at_least(1, **{name: value for name, value in given.items() if value is not None})
        if self.static and self.places is None:
            raise ValueError("static batches need places, got None")
        if self.shape.window is not None:
            raise ValueError(f"a model without a window is served, got one of {self.shape.window}")

    def work(self, parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Count the bytes and the operations of a step.

        The weights are read once. Each text reads its cache, and a word or a token of a prompt is two
        operations for each weight, and four for each pair, head and number of its width.

        Args:
            parts: for each text, the tokens in its cache and those that it reads now.

        >>> Server().work([(0, 2)])  # 2 · 2 · 7.5 · 10⁹ operations and a few for pairs
        (15010111488, 30021271552)
        """
        weights, token = self.shape.step_bytes(1, bytes_per_number=BYTES)
        read = weights + token * sum(kept + new for kept, new in parts)
        pairs = sum(new * kept + new * (new + 1) // 2 for kept, new in parts)
        pair = 4 * self.shape.n_layers * self.shape.n_heads * self.shape.d_head
        return read, 2 * self.shape.read_each_step * sum(new for _, new in parts) + pair * pairs

    def times(self, parts: Sequence[tuple[int, int]]) -> tuple[float, float]:
        """Return the seconds that a step reads, and those that it computes; it takes the longer of both."""
        read, operations = self.work(parts)
        return read / self.machine.bandwidth, operations / self.machine.operations

    def crossing(self, kept: int) -> float:
        """Return how many texts must write in one step for computing to take as long as reading.

        Args:
            kept: tokens in the cache of each, the one that it reads now included.

        Returns:
            Infinity where each text reads its own cache longer than it computes: then no batch is enough.

        >>> round(Server().crossing(1)), Server().crossing(1000)
        (296, inf)
        """
        weights, _ = self.times([])
        reads, computes = self.times([(kept - 1, 1)])
        return weights / (computes - reads + weights) if computes > reads - weights else math.inf

    def run(self, requests: Sequence[Request]) -> Run:
        """Serve requests.

        Args:
            requests: by arrival. They are served in this order.

        Raises:
            ValueError: they are not in this order, or one can never fit.
        """
        texts = [_Text.of(one) for one in requests]
        steps, evicted = self._serve(texts)
        waits = [text.times[0] - text.request.arrival for text in texts]
        places = self.places or max((step.texts for step in steps), default=1)
        return Run([text.times for text in texts], waits, steps, places, evicted)

    @property
    def token_bytes(self) -> int:
        """Bytes that a token takes in the cache."""
        return self.shape.step_bytes(1, bytes_per_number=BYTES)[1]

    def memory(self) -> Pages:
        """Return the memory for caches, all of it free."""
        left = int(self.machine.memory) - BYTES * self.shape.parameters
        return Pages(self.room or left // self.token_bytes, self.page or self.longest)

    def _serve(self, texts: Sequence[_Text]) -> tuple[list[Step], int]:
        """Run until all have their words; return the steps, and how often a text lost its pages."""
        pages, since = self.memory(), [text.request.arrival for text in texts]
        most = min(self.longest, len(pages.free) * pages.size)
        if any(text.request.prompt + text.request.answer > most for text in texts):
            raise ValueError(f"a prompt and its answer must fit into {most} tokens")
        if since != sorted(since):
            raise ValueError("requests must stand in the order in which they arrive")
        waiting, running = deque(texts), list[_Text]()
        clock, evicted, steps = 0.0, 0, list[Step]()
        while waiting or running:
            opens = not (self.static and running)
            if not running:
                enough = min(self.places or 1, len(waiting)) if self.static else 1
                clock = max(clock, waiting[enough - 1].request.arrival)
            parts, budget = list[tuple[int, int]](), math.inf
            if self.piece is not None:  # words come first
                budget = max(self.piece - sum(text.unread == 1 for text in running), 0)
            while len(parts) < len(running):  # those who are here
                text = running[len(parts)]
                new = 1 if text.unread == 1 else min(text.unread, budget)
                if text.kept + new <= text.covered or self._grow(pages, text, text.kept + new):
                    budget -= new if text.unread > 1 else 0
                    parts.append((text.kept, new))
                    continue
                last = running.pop()  # who came last makes room, and will read all again
                pages.release(last)
                last.kept, last.unread, last.covered = 0, last.request.prompt + len(last.times), 0
                waiting.appendleft(last)
                evicted, opens = evicted + 1, False
            while opens and len(running) < (self.places or math.inf) and budget >= 1:  # newcomers
                if not waiting or waiting[0].request.arrival > clock or not self._enter(pages, waiting[0]):
                    break
                text = waiting.popleft()
                running.append(text)
                parts.append((text.kept, min(text.unread, budget)))
                budget -= parts[-1][1]
            seconds = max(self.times([part for part in parts if part[1]]))
            waits = bisect_right(since, clock) - (len(texts) - len(waiting))
            clock += seconds
            for text, (_, new) in zip(running, parts, strict=True):
                text.kept, text.unread = text.kept + new, text.unread - new
                if not text.unread:
                    text.times.append(clock)
                    text.unread = 1
            held = sum(text.kept for text in running) - pages.spared
            tokens = sum(new for _, new in parts)
            steps.append(Step(seconds, len(running), tokens, waits, held, len(pages.texts) * pages.size))
            for text in [text for text in running if len(text.times) == text.request.answer]:
                running.remove(text)
                pages.release(text)
        return steps, evicted

    def _enter(self, pages: Pages, text: _Text) -> bool:
        """Give a newcomer its pages. What lies in shared ones it need not read; one token is always left."""
        beginning, shared = text.request.beginning, text.request.shared if self.sharing else 0
        there = len(pages.there(beginning, shared)) * pages.size
        if not self._grow(pages, text, text.kept + text.unread, beginning, shared):
            return False
        if there > text.kept:
            text.kept, text.unread = there, text.unread - there + text.kept
        return True

    @staticmethod
    def _grow(pages: Pages, text: _Text, tokens: int, beginning: int = 0, shared: int = 0) -> bool:
        if not pages.grow(text, tokens, beginning, shared):
            return False
        text.covered = len(pages.tables[text]) * pages.size
        return True
