"""Attention on several devices in a page of the book: stepped through, against what Python computes."""

import itertools

import pytest

from attnbook.widgets import DevicesInSteps
from attnbook.widgets.ring import SCHEMES, percent

from .reader import (
    SIDEWAYS,
    TOUCHING,
    assert_fits_a_thumb,
    assert_readable_under_the_mouse,
    choose,
    copied,
    figure,
    press,
    run_copied,
    saved,
    says,
    static,
    table,
    unfold,
    violations,
)


@pytest.fixture(scope="module")
def bench(page_with):
    return page_with(DevicesInSteps()._repr_html_())


@pytest.fixture
def part(site, bench):
    part = figure(site.figures(bench), "ring")
    unfold(part)
    return part


def amounts(part, what, devices):
    """Add up what the bars of each device stand for."""
    drawn = part.locator(f'[data-part="{what}"]').evaluate_all(
        "(all) => all.map((e) => [Number(e.dataset.device), Number(e.dataset.amount)])"
    )
    return [sum(amount for rank, amount in drawn if rank == device) for device in range(devices)]


def assert_shows(part, expected):
    """Hold table, cells, arrows and bars to what Python computes."""
    p, step, steps = expected.devices, expected.step, expected.steps()
    so_far, now = steps[:step], steps[step - 1]
    rows = static(expected.table())[0]
    cells = [row[: 2 + step] for row in table(part)]
    assert cells == [row[: 2 + step] for row in rows]
    computed = [sum(t.pairs * t.heads for t in turns) / 8 for turns in zip(*so_far, strict=True)]
    time = sum(max(t.pairs * t.heads for t in turns) for turns in so_far) / 8
    waits = [time - own for own in computed]
    sent = [sum(t.sent for t in turns) for turns in zip(*so_far, strict=True)]
    for row, own, idle, away in zip(table(part), computed, waits, sent, strict=True):
        share = percent(int(idle * 8), int(time * 8)) if time else 0
        assert row[2 + step :] == [f"{own:g}", f"{idle:g} ({share} %)", f"{away:,} B"]
    assert amounts(part, "busy", p) == computed
    assert amounts(part, "idle", p) == waits
    if step == len(steps):
        assert table(part) == rows
    lit = part.locator('[data-part="cells"][data-state="now"]').get_attribute("data-pairs")
    ring = expected.scheme != "all-to-all"
    assert int(lit) == (sum(t.pairs for t in now) if ring else now[0].pairs)
    arrows = part.locator('[data-part="arrow"]').evaluate_all(
        "(all) => all.map((e) => [Number(e.dataset.from), Number(e.dataset.to)])"
    )
    if ring:
        assert arrows == ([] if step == p else [[rank, (rank + 1) % p] for rank in range(p)])
    else:
        pairs = [[a, b] for a, b in itertools.product(range(p), range(p)) if a != b]
        assert arrows == ([] if step == 2 else pairs)
    assert part.locator('[data-part="error"]').is_hidden()


def test_it_opens_at_the_first_step_where_nobody_waits_and_the_next_has_the_first_device_wait(site, bench):
    part = figure(site.open(bench), "ring")
    assert_shows(part, DevicesInSteps(step=1))
    assert says(part).startswith("Step 1 of 4: each device computes 10 pairs.")
    assert part.locator('[data-part="nothing"], [data-part="idle"]').count() == 0
    shares = part.locator('[data-part="share"]').all_text_contents()
    assert shares == [*["0 %"] * 4, "all devices: 0 %"]
    part.locator('[data-part="next"]').click()
    assert_shows(part, DevicesInSteps(step=2))
    assert says(part) == (
        "Step 2 of 4: device 0 waits, the others compute 16 pairs each. "
        "Each sends 4 tokens × 2 heads × 128 numbers × 2 B = 2,048 B."
    )
    waiting = part.locator('[data-part="nothing"]')
    assert waiting.evaluate_all("(all) => all.map((e) => e.dataset.device)") == ["0"]
    # What is to come is not told.
    drawn = part.locator('[data-part="plane"]').text_content()
    assert "26 pairs" in drawn
    assert "58 pairs" not in drawn + part.inner_text()


def test_it_steps_by_button_by_key_and_by_slider(part):
    part.locator('[data-part="next"]').click()
    assert_shows(part, DevicesInSteps(step=2))
    press(part, "next", "ArrowRight", "ArrowRight")
    assert_shows(part, DevicesInSteps(step=4))
    assert says(part).endswith("Time in all: 58; waited: 41 % of it.")
    press(part, "next", "Home")
    assert_shows(part, DevicesInSteps(step=1))
    assert part.locator('[data-part="back"]').is_disabled()
    press(part, "step", "ArrowRight", "ArrowRight")
    assert_shows(part, DevicesInSteps(step=3))
    part.locator('[data-part="back"]').click()
    assert_shows(part, DevicesInSteps(step=2))
    press(part, "next", "End")
    part.locator('[data-part="next"]').click()  # from the start
    assert_shows(part, DevicesInSteps(step=1))
    part.locator('[data-part="reset"]').click()
    assert_shows(part, DevicesInSteps())


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("causal", [True, False])
def test_every_step_of_every_scheme_holds_what_python_computes(part, scheme, causal):
    choose(part, "scheme", scheme)
    part.locator('[data-part="causal"]').set_checked(causal)
    for tokens, devices in ((16, 4), (13, 3), (32, 8), (9, 8)):
        part.locator('[data-part="tokens"]').fill(str(tokens))
        part.locator('[data-part="devices"]').fill(str(devices))
        for step in range(1, 1 + (3 if scheme == "all-to-all" else devices)):
            part.locator('[data-part="step"]').fill(str(step))
            assert_shows(part, DevicesInSteps(tokens, devices, scheme, causal=causal, step=step))


def test_shares_of_the_time_waited_stand_beside_the_bars(part):
    press(part, "next", "End")
    shares = part.locator('[data-part="share"]').all_text_contents()
    assert shares == ["83 %", "55 %", "28 %", "0 %", "all devices: 41 %"]
    # What they are shares of, and what all send, is said once.
    press(part, "next", "Home")
    drawn = part.locator('[data-part="plane"] text').all_text_contents()
    assert [drawn.count(words) for words in ("waited", "time so far: 10 pairs", "each sends 2,048 B")] == [
        1,
        1,
        1,
    ]
    assert len([words for words in drawn if "sends" in words]) == 1
    choose(part, "scheme", "zigzag")
    assert part.locator('[data-part="share"]').last.text_content() == "all devices: 0 %"


def test_a_step_that_another_scheme_lacks_becomes_its_last(part):
    press(part, "next", "End")
    choose(part, "scheme", "all-to-all")
    assert_shows(part, DevicesInSteps(scheme="all-to-all", step=3))
    choose(part, "scheme", "zigzag")
    part.locator('[data-part="devices"]').fill("2")
    assert_shows(part, DevicesInSteps(devices=2, scheme="zigzag", step=2))


def test_the_scale_of_time_is_one_for_all_schemes(part):
    scale = """(all) => all.map((e) => (e.width.baseVal.value + 1.5) / Number(e.dataset.amount))"""
    seen = []
    for scheme, causal in itertools.product(SCHEMES, (True, False)):
        choose(part, "scheme", scheme)
        part.locator('[data-part="causal"]').set_checked(causal)
        press(part, "next", "End")
        seen += part.locator('[data-part="busy"]').evaluate_all(scale)
    assert max(seen) == pytest.approx(min(seen), rel=0.005)  # with the hair between two steps


@pytest.mark.parametrize(("width", "what"), [(1280, "chip"), (390, "carried")])
def test_keys_are_seen_to_go_on_unless_motion_is_unwanted(site, bench, width, what):
    page = site.open(bench, width=width)
    part = figure(page, "ring")
    moved = """(what) => { document.querySelector('[data-part="next"]').click();
      const chips = (a) => a.effect.target.dataset?.part === what;
      return document.getAnimations().filter(chips).length; }"""
    assert page.evaluate(moved, what) == 0
    page.emulate_media(reduced_motion="no-preference")
    before = says(part)
    assert before.startswith("Step 2 of 4: ")
    try:
        assert page.evaluate(moved, what) == 4
        # First the keys go on; cells, bars, counter and sentence are of one step throughout.
        on_the_way, then = page.evaluate(
            """async () => {
              const here = (part) => document.querySelector(`[data-part="${part}"]`);
              const said = () => [here("status").textContent.slice(0, 7),
                here("step").getAttribute("aria-valuetext"),
                document.querySelector('[data-state="now"]').dataset.pairs,
                document.querySelectorAll('[data-part="busy"][data-device="3"]').length];
              const first = said();
              await Promise.all(document.getAnimations().map((one) => one.finished));
              await new Promise((frame) => requestAnimationFrame(() => setTimeout(frame)));
              return [first, said()];
            }"""
        )
        # Two steps in a hurry: what was on its way is there, and no press is lost.
        press(part, "next", "Home")
        press(part, "step", "ArrowRight", "ArrowRight", "ArrowRight")
        page.wait_for_function(
            "document.querySelector('[data-part=step]').getAttribute('aria-valuetext') === '4 of 4'"
        )
        assert_shows(part, DevicesInSteps(step=4))
        press(part, "step", "ArrowLeft")
    finally:
        page.emulate_media(reduced_motion="reduce")
    assert on_the_way == ["Step 2 ", "2 of 4", "48", 2]
    assert then == ["Step 3 ", "3 of 4", "32", 3]
    assert_shows(part, DevicesInSteps(step=3))


def test_rows_are_seen_to_go_where_they_are_dealt_unless_motion_is_unwanted(site, bench):
    page = site.open(bench)
    part = figure(page, "ring")
    # Where the bars of rows stand when another scheme is pressed, and at the end; and what is said then.
    dealt = """async (to) => {
      document.querySelector(`[data-part="scheme"] [data-value="${to}"]`).click();
      const status = document.querySelector('[data-part="status"]');
      const all = document.getAnimations().filter((a) => a.effect.getTiming().duration === 400);
      all.forEach((a) => (a.pause(), (a.currentTime = 0)));
      const bands = [...document.querySelectorAll('[data-part="band"]')];
      const read = () => bands.map((e) => [e.dataset.device, Math.round(e.getBoundingClientRect().top)]);
      const [first, said] = [read(), status.textContent];
      all.forEach((a) => a.finish());
      await Promise.all(all.map((a) => a.finished));
      await new Promise((frame) => requestAnimationFrame(() => setTimeout(frame)));
      return [all.length, first, said, read(), status.textContent];
    }"""
    count, start, *_ = page.evaluate(dealt, "zigzag")
    assert count == 0
    page.evaluate(dealt, "contiguous")
    page.emulate_media(reduced_motion="no-preference")
    try:
        before = says(part)
        count, start, on_the_way, end, then = page.evaluate(dealt, "zigzag")
        assert count > 8
        assert page.evaluate(dealt, "all-to-all")[0] == 0
        assert page.evaluate(dealt, "contiguous")[0] == 0
    finally:
        page.emulate_media(reduced_motion="reduce")
    assert on_the_way == before
    assert then.startswith("Step 1 of 4: each device computes 10 pairs. ")
    # At first in the order of devices, as contiguous has them; then the first has the first and the last.
    by_place = lambda bars: [device for device, _ in sorted(bars, key=lambda bar: bar[1])]  # noqa: E731
    assert by_place(start) == list("0011223")  # the last device's lie side by side in both
    assert by_place(end)[0] == by_place(end)[-1] == "0"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("causal", [True, False])
def test_copied_code_comes_to_the_same_as_one_device_and_to_the_same_counts(part, scheme, causal):
    choose(part, "scheme", scheme)
    part.locator('[data-part="causal"]').set_checked(causal)
    part.locator('[data-part="tokens"]').fill("13")
    *lines, last = run_copied(part)[0].splitlines()
    assert last == "equal to one device: True"
    expected = DevicesInSteps(13, 4, scheme, causal=causal)
    for rank, line in enumerate(lines):
        assert line.endswith(f"sends {expected.sent()[rank]}")
        if scheme != "all-to-all":
            pairs = [turns[rank].pairs for turns in expected.steps()]
            assert line.startswith(f"device {rank} pairs {pairs}")
    assert len(lines) == 4


def test_a_link_and_a_picture_show_the_step(part):
    choose(part, "scheme", "zigzag")
    press(part, "next", "ArrowRight", "ArrowRight")
    assert "0–1, 14–15" in saved(part)
    part.page.goto(copied(part, "link"))
    assert_shows(figure(part.page, "ring"), DevicesInSteps(scheme="zigzag", step=3))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"tokens": 40}, "tokens must be a whole number from 8 to 32, got 40"),
        ({"devices": 1}, "devices must be a whole number from 2 to 8, got 1"),
        ({"scheme": "striped"}, "scheme must be one of contiguous, zigzag, all-to-all, got striped"),
        ({"step": 5}, "step must be a whole number from 1 to 4, got 5"),
    ],
)
def test_a_broken_link_says_what_is_wrong_in_the_figure(site, bench, state, message):
    assert message in site.complaint(bench, "ring", state)


@pytest.mark.parametrize(("width", "most"), [(1280, 560), (320, 720)])
def test_nothing_touches_and_it_is_no_higher_than_it_must_be(site, bench, width, most):
    part = figure(site.figures(bench, width=width, height=900), "ring")
    assert part.locator(".attnlab-root").bounding_box()["height"] <= most
    unfold(part)
    for scheme, (tokens, devices) in itertools.product(SCHEMES, ((16, 4), (32, 8), (29, 7), (32, 2))):
        choose(part, "scheme", scheme)
        part.locator('[data-part="tokens"]').fill(str(tokens))
        part.locator('[data-part="devices"]').fill(str(devices))
        for step in (1, 2, 3):
            part.locator('[data-part="step"]').fill(str(step))
            assert part.evaluate(TOUCHING) == [], (scheme, tokens, devices, step)


DRAWN = """(part) => Object.fromEntries(["edge", "slot", "chip", "next"].map((name) => {
  const all = [...part.querySelectorAll(`[data-part="${name}"]`)].map((e) => e.getBoundingClientRect());
  const [top, bottom] = [Math.min(...all.map((e) => e.top)), Math.max(...all.map((e) => e.bottom))];
  return [name, { left: all[0].left, right: all[0].right, top, bottom }];
}))"""


def test_the_table_is_large_and_time_stands_below_the_devices_beside_it(site, bench):
    at = figure(site.figures(bench, width=1280, height=900), "ring").evaluate(DRAWN)
    edge, slots, chips = at["edge"], at["slot"], at["chip"]
    assert edge["right"] - edge["left"] == pytest.approx(340, abs=2)
    assert edge["right"] < min(slots["left"], chips["left"])
    assert edge["top"] < chips["top"] < chips["bottom"] < slots["top"]
    assert slots["bottom"] < edge["bottom"] + 5


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_table_time_button_and_sentence_are_in_one_view_and_devices_folded(site, bench, width):
    part = figure(site.figures(bench, width=width, height=844), "ring")
    at = part.evaluate(DRAWN)
    assert at["edge"]["bottom"] - at["edge"]["top"] >= 210
    assert at["edge"]["bottom"] < at["slot"]["top"]
    assert at["slot"]["bottom"] < at["next"]["top"]
    said, root = (part.locator(one).bounding_box() for one in (".attnlab-status", ".attnlab-root"))
    assert 0 <= said["y"] - at["next"]["bottom"] < 16
    assert said["y"] + said["height"] - root["y"] < 620
    assert root["height"] < (690 if width == 390 else 720)
    assert not part.locator('[data-part="chip"]').first.is_visible()
    part.locator('[data-part="holds"] > summary').click()
    at = part.evaluate(DRAWN)
    assert said["y"] + said["height"] < at["chip"]["top"]


@pytest.mark.parametrize("width", [375, 390])
def test_on_a_phone_keys_are_seen_to_go_on_above_the_fold(site, bench, width):
    part = figure(site.figures(bench, width=width, height=844), "ring")
    assert part.locator(".attnlab-root").bounding_box()["height"] < 700
    carried = part.locator('[data-part="carried"]')
    owners = "(all) => all.map((e) => [Number(e.dataset.device), Number(e.dataset.from)])"
    for step in (1, 2, 3, 4):
        assert carried.evaluate_all(owners) == [[rank, (rank - step + 1) % 4] for rank in range(4)]
        names = [text.split()[-1] for text in carried.locator("text").all_text_contents()]
        assert names == [str((rank - step + 1) % 4) for rank in range(4)]
        boxes = [one.bounding_box() for one in carried.all()]
        edge, slot = (part.locator(f'[data-part="{one}"]').first.bounding_box() for one in ("edge", "slot"))
        assert edge["y"] + edge["height"] < min(box["y"] for box in boxes)
        assert max(box["y"] + box["height"] for box in boxes) < slot["y"]
        part.locator('[data-part="next"]').click()
    part.locator('[data-part="more"] > summary').click()
    for devices in (2, 8):
        part.locator('[data-part="devices"]').fill(str(devices))
        assert carried.count() == devices
        assert part.evaluate(TOUCHING) == []
    choose(part, "scheme", "all-to-all")
    assert carried.count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll(site, bench, theme):
    page = site.figures(bench, theme=theme, width=320, height=700)
    part = figure(page, "ring")
    assert violations(page) == []
    for scheme, step in (("zigzag", 1), ("all-to-all", 2), ("all-to-all", 3)):
        choose(part, "scheme", scheme)
        part.locator('[data-part="step"]').fill(str(step))
        part.locator("details:not([open], .attnlab-menu) > summary").evaluate_all(
            "(all) => all.forEach((e) => e.click())"
        )
        assert violations(page) == []
        assert page.evaluate(SIDEWAYS) == []
        assert_fits_a_thumb(page.locator("figure"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_next_step_stays_readable_under_the_mouse(site, bench, theme):
    page = site.figures(bench, theme=theme)
    assert_readable_under_the_mouse(figure(page, "ring").locator('[data-part="next"]'))
