"""Draws the little pictures of the chapters' cards: each shows the one thing that its chapter is about.

Plain SVG in the book's colours, so that a card follows the page's light or dark.

>>> drawing("masking").count("<rect")
36
>>> drawing("unknown")
Traceback (most recent call last):
    ...
attnlab_book.drawings.UndrawnError: no drawing for 'unknown': add one to attnlab_book/drawings.py
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable

WIDTH, HEIGHT = 160, 90
INK, LINE = "var(--attn-quiet)", "var(--attn-line)"
QUERY, KEY, VALUE, OUTPUT = (f"var(--attn-{role})" for role in ("query", "key", "value", "output"))
ACCENT = "var(--attn-accent-line)"


class UndrawnError(LookupError):
    """A chapter whose card has no picture."""


def _shape(name: str, **traits: object) -> str:
    said = "".join(
        f' {key.replace("_", "-")}="{value:g}"'
        if isinstance(value, (int, float))
        else f' {key.replace("_", "-")}="{value}"'
        for key, value in traits.items()
    )
    return f"<{name}{said}/>"


def _line(points: Iterable[tuple[float, float]], colour: str, width: float = 2, **traits: object) -> str:
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return _shape("path", d=path, fill="none", stroke=colour, stroke_width=width, **traits)


def _arc(start: float, end: float, floor: float, height: float, colour: str, width: float) -> str:
    path = f"M{start:g} {floor:g}C{start:g} {floor - height:g} {end:g} {floor - height:g} {end:g} {floor:g}"
    return _shape("path", d=path, fill="none", stroke=colour, stroke_width=width, stroke_linecap="round")


def _box(
    x: float, y: float, width: float, height: float, colour: str, opacity: float = 1, **traits: object
) -> str:
    shape = {
        "x": x,
        "y": y,
        "width": width,
        "height": height,
        "rx": 2,
        "fill": colour,
        "fill_opacity": round(opacity, 2),
    }
    return _shape("rect", **shape, **traits)


def _dot(x: float, y: float, radius: float, colour: str) -> str:
    return _shape("circle", cx=round(x, 1), cy=round(y, 1), r=radius, fill=colour)


def _frame(x: float, y: float, width: float, height: float, colour: str = INK, **traits: object) -> str:
    return _box(x, y, width, height, "none", stroke=colour, stroke_width=1.5, **traits)


def _word(x: float, text: str, colour: str = INK, y: float = 78) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle" font-size="15" fill="{colour}">{text}</text>'


def _why_attention() -> list[str]:
    words = dict(zip((22, 62, 98, 136), ("I", "saw", "a", "saw"), strict=True))
    arcs = [
        _arc(136, 98, 62, 40, QUERY, 7),
        _arc(136, 62, 62, 52, QUERY, 2.5),
        _arc(136, 22, 62, 66, QUERY, 1.2),
    ]
    return arcs + [_word(x, text, QUERY if x == 136 else INK) for x, text in words.items()]


def _relevance_and_averaging() -> list[str]:
    values = [(24, 66), (44, 16), (104, 12), (142, 44), (96, 78)]
    shape = "M" + "L".join(f"{x} {y}" for x, y in values) + "Z"
    x, y = query = (92, 42)
    widths = (0.6, 1.2, 2, 6, 1.2)
    rays = [_line([value, query], QUERY, width) for value, width in zip(values, widths, strict=True)]
    hull = _shape("path", d=shape, fill=VALUE, fill_opacity=0.12, stroke=VALUE, stroke_width=1.2)
    diamond = _shape("path", d=f"M{x} {y - 8}L{x + 8} {y}L{x} {y + 8}L{x - 8} {y}Z", fill=QUERY)
    points = [*(_dot(*value, 5, VALUE) for value in values), _dot(122, 43, 6, OUTPUT)]
    return [hull, *rays, *points, diamond]


def _queries_keys_values() -> list[str]:
    rows = [(18, QUERY, (0.9, 0.3, 0.6)), (45, KEY, (0.4, 0.8, 0.2)), (72, VALUE, (0.7, 0.5, 1))]
    wires = [
        _shape("path", d=f"M38 45C62 45 62 {y} 86 {y}", fill="none", stroke=colour, stroke_width=2)
        for y, colour, _ in rows
    ]
    token = [_box(14, 45 - 24 + 16 * i, 18, 14, INK, share) for i, share in enumerate((0.75, 0.3, 0.55))]
    cells = [
        _box(88 + 18 * i, y - 8, 16, 16, colour, share)
        for y, colour, shares in rows
        for i, share in enumerate(shares)
    ]
    return [*wires, *token, *cells]


def _bell(spread: float, height: float, colour: str, width: float) -> str:
    return _line(
        [(80 + x, 78 - height * math.exp(-((x / spread) ** 2) / 2)) for x in range(-72, 73, 3)], colour, width
    )


def _scaling() -> list[str]:
    return [_line([(8, 78), (152, 78)], LINE, 1.5), _bell(34, 20, INK, 2), _bell(9, 62, ACCENT, 3)]


def _softmax_saturation() -> list[str]:
    even, sharp = (22, 30, 26, 38, 24, 28, 20), (2, 4, 3, 66, 2, 4, 2)
    return [
        _shape("path", d="M8 80H152", stroke=LINE, stroke_width=1.5),
        *(_frame(12 + 20 * i, 80 - h, 15, h, LINE) for i, h in enumerate(even)),
        *(_box(12 + 20 * i, 80 - h, 15, h, QUERY) for i, h in enumerate(sharp)),
    ]


def _masking() -> list[str]:
    return [
        _box(
            42 + 13 * j,
            6 + 13 * i,
            11,
            11,
            QUERY if j <= i else LINE,
            (0.35 + 0.6 / (1 + i - j)) if j <= i else 0.6,
        )
        for i in range(6)
        for j in range(6)
    ]


def _multi_head() -> list[str]:
    xs = [20 + 24 * i for i in range(6)]
    looks = [
        (5, 4, QUERY),
        (5, 1, OUTPUT),
        (3, 0, OUTPUT),
        (3, 2, QUERY),
        (2, 1, QUERY),
        (4, 0, KEY),
        (5, 0, KEY),
    ]
    arcs = [_arc(xs[a], xs[b], 70, 16 + 12 * (a - b), colour, 2.4) for a, b, colour in looks]
    return arcs + [_dot(x, 72, 4.5, INK) for x in xs]


def _positional_encoding() -> list[str]:
    drawn = []
    for at, turn in enumerate((0.4, 1.5, 2.6)):
        x, y, r = 30 + 50 * at, 46, 21
        drawn.append(_shape("circle", cx=x, cy=y, r=r, fill="none", stroke=LINE, stroke_width=1.5))
        start, end = ((x + r * math.cos(turn + gap), y - r * math.sin(turn + gap)) for gap in (0, 0.9))
        drawn.append(
            _shape(
                "path",
                d=f"M{x} {y}L{start[0]:.1f} {start[1]:.1f}A{r} {r} 0 0 0 {end[0]:.1f} {end[1]:.1f}Z",
                fill=ACCENT,
                fill_opacity=0.25,
            )
        )
        drawn += [
            _line([(x, y), tip], colour, 3, stroke_linecap="round")
            for tip, colour in ((start, KEY), (end, QUERY))
        ]
    return drawn


def _before_transformers() -> list[str]:
    looks = ((0, 7), (0, 8), (1, 8), (2, 4), (3, 4), (4, 0), (5, 1))
    near = [
        (i, j, 0.95 if (i, j) in looks else 0.4 if (i, j - 1) in looks else 0.1)
        for i in range(6)
        for j in range(9)
    ]
    return [_box(17 + 14 * j, 5 + 13.5 * i, 12, 11.5, QUERY, share) for i, j, share in near]


def _transformer() -> list[str]:
    stream = _line([(8, 62), (152, 62)], INK, 3.5)
    parts = []
    for x, colour in ((30, QUERY), (96, VALUE)):
        parts += [
            _shape(
                "path",
                d=f"M{x - 8} 62C{x - 4} 62 {x - 8} 30 {x} 30H{x + 34}C{x + 42} 30 {x + 38} 62 {x + 42} 62",
                fill="none",
                stroke=colour,
                stroke_width=2,
            ),
            _box(x, 16, 34, 28, "var(--attn-paper)", stroke=colour, stroke_width=2),
            _dot(x + 42, 62, 6, colour),
        ]
    return [stream, *parts]


def _decoding() -> list[str]:
    kept = [
        _box(10 + 15 * i, y, 12, 16, colour, 0.75) for y, colour in ((12, KEY), (31, VALUE)) for i in range(7)
    ]
    new = [_frame(115, y, 12, 16, colour, stroke_dasharray="3 2") for y, colour in ((12, KEY), (31, VALUE))]
    bars = [
        _box(10 + 20 * i, 82 - h, 15, h, ACCENT if h == 26 else LINE)
        for i, h in enumerate((5, 9, 26, 12, 4, 7, 3))
    ]
    return [*kept, *new, *bars]


def _real_model() -> list[str]:
    drawn, chance = [], random.Random(6)
    for i in range(6):
        for j in range(12):
            drawn.append(
                _box(10 + 11.8 * j, 7 + 13 * i, 9.5, 10.5, QUERY, 0.08 + 0.85 * chance.random() ** 4)
            )
    return drawn


def _what_it_costs() -> list[str]:
    roof = _line([(14, 76), (78, 22), (150, 22)], ACCENT, 3)
    points = [(34, 66), (50, 50), (72, 34), (98, 28), (126, 25)]
    return [
        _line([(14, 8), (14, 80), (152, 80)], LINE, 1.5),
        roof,
        *(_dot(x, y, 4, QUERY) for x, y in points),
    ]


def _sparse_attention() -> list[str]:
    chance, drawn = random.Random(1), []
    for i in range(9):
        for j in range(9):
            colour = (
                KEY
                if 0 in (i, j)
                else QUERY
                if abs(i - j) <= 1
                else VALUE
                if chance.random() < 0.08
                else LINE
            )
            drawn.append(_box(40 + 9 * j, 5 + 9 * i, 7.5, 7.5, colour, 0.85 if colour != LINE else 0.6))
    return drawn


def _linear_attention() -> list[str]:
    return [
        _box(14, 9, 18, 72, QUERY, 0.8),
        _word(46, "(", y=51),
        _box(54, 36, 60, 18, KEY, 0.8),
        _box(120, 9, 18, 72, VALUE, 0.8),
        _word(148, ")", y=51),
    ]


def _playground() -> list[str]:
    curve = [(14 + x, 74 - 56 * (1 - math.exp(-x / 26))) for x in range(0, 137, 4)]
    return [
        _line([(14, 8), (14, 80), (152, 80)], LINE, 1.5),
        *(_line([(14, y), (152, y)], INK, 1, stroke_dasharray="4 4") for y in (17, 40, 58)),
        _line(curve, QUERY, 3),
    ]


def _design() -> list[str]:
    edge = [
        (14, 80),
        (26, 80),
        (26, 60),
        (50, 60),
        (50, 38),
        (78, 38),
        (78, 24),
        (112, 24),
        (112, 14),
        (152, 14),
    ]
    offsets = [(-2, KEY), (-1, KEY), (0, QUERY), (1, KEY), (2, LINE), (3, LINE)]
    return [
        _line([(14, 8), (14, 80), (152, 80)], LINE, 1.5),
        _line(edge, INK, 1, stroke_dasharray="4 4"),
        *(_box(100 + 9 * at, 62, 7, 9, colour) for at, (_, colour) in enumerate(offsets)),
        _dot(62, 38, 5, QUERY),
    ]


def _todays_models() -> list[str]:
    strips = ("FFFFFFFFFF", "WWWFWWWFWW", "LLLFLLLFLL")
    colour = {"F": QUERY, "W": VALUE, "L": KEY}
    return [
        _box(11 + 14 * at, 10 + 26 * row, 11, 19, colour[kind], 0.85)
        for row, strip in enumerate(strips)
        for at, kind in enumerate(strip)
    ]


def _many_devices() -> list[str]:
    turn = [math.radians(90 + 360 * r / 6) for r in range(6)]
    places = [(80 + 32 * math.cos(a), 45 + 32 * math.sin(a)) for a in turn]
    circle = [
        (80 + 32 * math.cos(math.radians(a)), 45 + 32 * math.sin(math.radians(a))) for a in range(0, 361, 6)
    ]
    return [
        _line(circle, LINE, 2),
        *(_box(x - 8, y - 8, 16, 16, (QUERY, KEY, VALUE)[r % 3], 0.85) for r, (x, y) in enumerate(places)),
    ]


def _to_come() -> list[str]:
    """Stand in for a drawing that a new chapter does not have yet."""
    return [_frame(14 + 46 * i, 25, 40, 40, LINE, stroke_dasharray="4 4") for i in range(3)]


DRAWINGS: dict[str, Callable[[], list[str]]] = {
    "why_attention": _why_attention,
    "relevance_and_averaging": _relevance_and_averaging,
    "queries_keys_values": _queries_keys_values,
    "scaling": _scaling,
    "softmax_saturation": _softmax_saturation,
    "masking": _masking,
    "multi_head": _multi_head,
    "positional_encoding": _positional_encoding,
    "playground": _playground,
    "design": _design,
    "before_transformers": _before_transformers,
    "transformer": _transformer,
    "decoding": _decoding,
    "real_model": _real_model,
    "what_it_costs": _what_it_costs,
    "sparse_attention": _sparse_attention,
    "linear_attention": _linear_attention,
    "todays_models": _todays_models,
    "many_devices": _many_devices,
}


def drawing(topic: str) -> str:
    """Draw a chapter's picture as SVG, which says nothing to a screen reader: the card's words do.

    Raises:
        UndrawnError: the topic has none.
    """
    if topic not in DRAWINGS:
        raise UndrawnError(f"no drawing for {topic!r}: add one to attnlab_book/drawings.py")
    shapes = "".join(DRAWINGS[topic]())
    return f'<svg class="attn-drawing" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{shapes}</svg>'
