"""The landing page and what a shared link shows: cards, ways through, first screens, pictures."""

import re
from itertools import pairwise
from types import SimpleNamespace
from urllib.parse import quote, urlparse

import pytest
import set_address
from attnlab_book import cards, counts, drawings, pages, share
from attnlab_book import readers as edition
from PIL import Image

from attnbook.tagging import shipped
from attnbook.widgets import TagSentence

from .conftest import ROOT, chapters, page_of, toc_pages
from .reader import choose, copied, figure, more, parsed, run_copied, saved, says, table, unfold

HOME = toc_pages()[0]
WRITTEN = [chapter for chapter in chapters.read(ROOT) if chapter.number is not None]
IN_VIEW = """(element) => {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}"""
PLACES = """(words) => words.map(({ offsetLeft, offsetTop, offsetWidth }) =>
  [offsetLeft + offsetWidth / 2, offsetTop - 2])"""
DASHED = "(arc) => getComputedStyle(arc).strokeDasharray !== 'none'"
HIDDEN = """(figure) => {
  figure.querySelectorAll('[data-part="hide"]')[2].click();
  const names = figure.getAnimations({ subtree: true }).map((one) => one.animationName);
  return [names.filter(Boolean), figure.querySelector("[data-key]").getAnimations().length > 0];
}"""
PRESSED = """async (figure, times) => {
  const heard = [], frame = () => new Promise(requestAnimationFrame);
  const moving = () => figure.getAnimations({ subtree: true }).map((one) => one.finished);
  const still = async () => {
    while (moving().length) await Promise.allSettled(moving());
    await frame();
    await frame();
  };
  await still();
  const ear = new MutationObserver((all) => heard.push(...all.map((one) => one.addedNodes[0].textContent)));
  ear.observe(figure.querySelector('[data-part="status"]'), { childList: true });
  for (let i = 0; i < times; i++) {
    figure.querySelectorAll('[data-part="hide"]')[2].click();
    if (i % 2) await frame();
  }
  await still();
  return heard;
}"""
"""Presses as often, some in one frame, and waits until nothing moves: all that the line of state said."""
WIDTHS = """(arcs) => Object.fromEntries(arcs.map((arc) =>
  [arc.dataset.key, parseFloat(getComputedStyle(arc).strokeWidth)]))"""
WATCH = """window.shift = 0;
new PerformanceObserver((seen) => {
  for (const entry of seen.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });"""


CONTRAST = """(pill) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((x) => x / 255)
      .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const { color, backgroundColor } = getComputedStyle(pill);
  const [a, b] = [light(color), light(backgroundColor)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""


def hero(page):
    return page.locator('[data-attnlab="tag"]').first


def opened(topic):
    """The minutes that a chapter's opener promises: to read, and for its exercises."""
    return counts.promised(ROOT / chapters.find(WRITTEN, topic).page)


def test_every_chapter_has_a_card_with_its_picture_its_question_and_what_it_takes(book):
    found = parsed(book / f"{HOME}.html").select("li.attn-card")
    asked = share.questions(ROOT)
    assert [card.select_one(".attn-card-title").get_text() for card in found] == [
        f"{chapter.label} {chapter.title}" for chapter in WRITTEN
    ]
    for card, chapter in zip(found, WRITTEN, strict=True):
        assert card.select_one(".attn-card-title a")["href"] == f"{chapter.page.rpartition('/')[2]}.html"
        question = card.select_one(".attn-card-question").get_text()
        assert question.replace("’", "'") == asked[chapter.topic]
        facts = card.select_one(".attn-card-facts").get_text()
        tasks = counts.of_chapter(ROOT, chapter).exercises
        assert facts.startswith(f"{opened(chapter.topic)[0]} minutes · {len(tasks)} exercises")
        # What to read before stands before.
        assert all(
            int(number) < chapter.number for number in re.findall(r"\d\d", facts.partition("after")[2])
        )
        assert len(card.select_one("svg[aria-hidden=true]").find_all(True)) > 2


def test_the_ways_through_add_up(book):
    ways = [way.get_text() for way in parsed(book / f"{HOME}.html").select(".attn-path > .attn-card-facts")]
    evening = sum(opened(chapter.topic)[0] for chapter in WRITTEN[:3])
    week, course = (sum(sum(opened(one.topic)) for one in WRITTEN[:n]) for n in (10, len(WRITTEN)))
    assert ways == [
        f"3 chapters to read: {cards.spoken(evening)}.",
        f"10 chapters with their exercises: {cards.spoken(week)}.",
        f"{len(WRITTEN)} chapters with their exercises: {cards.spoken(course)}.",
    ]


@pytest.mark.parametrize(
    ("width", "most", "drawn"), [(1280, 3, 250), (768, 3, 180), (390, 1, 200), (320, 1, 200)]
)
def test_cards_fill_every_row_each_with_its_picture_across_the_top(site, width, most, drawn):
    boxes = "(cards) => cards.map((card) => card.getBoundingClientRect().toJSON())"
    page = site.open(HOME, width=width)
    for part in page.locator("ul.attn-cards").all():
        rows = {}
        for box in part.locator("li.attn-card").evaluate_all(boxes):
            rows.setdefault(round(box["top"]), []).append(box)
        whole = part.bounding_box()
        for row in rows.values():
            assert min(most, 2) <= len(row) <= most
            assert row[0]["left"] == pytest.approx(whole["x"], abs=1)
            assert row[-1]["right"] == pytest.approx(whole["x"] + whole["width"], abs=1)
            assert max(box["width"] for box in row) - min(box["width"] for box in row) < 1
    for card in page.locator("li.attn-card").all():
        picture, title = card.locator("svg").bounding_box(), card.locator(".attn-card-title").bounding_box()
        assert picture["y"] + picture["height"] <= title["y"]
        # As wide as it is drawn: it keeps its shape within its box.
        assert min(picture["width"], picture["height"] * 16 / 9) > drawn
        assert title["width"] > 180
    widths = "(ways) => [...new Set(ways.map((way) => Math.round(way.getBoundingClientRect().width)))]"
    assert len(page.locator(".attn-path").evaluate_all(widths)) == 1


@pytest.mark.parametrize(("width", "height", "top"), [(1280, 800, 310), (390, 844, 310), (320, 568, 400)])
def test_the_first_screen_shows_the_figure_and_where_there_is_room_where_to_start(site, width, height, top):
    page = site.open(HOME, width=width, height=height)
    start, longer = page.locator(".attn-start > a").all()
    first = WRITTEN[0]
    # The short way is the button, and stands on the first screen once; the first chapter is a link beside it.
    assert start.inner_text() == "The idea in five minutes"
    assert page.locator("article p a[href='five_minutes.html']").count() == 1
    assert start.evaluate("(a) => getComputedStyle(a).borderRadius") == "999px"
    assert longer.inner_text() == f"chapter {first.label}: {opened(first.topic)[0]} minutes"
    assert longer.get_attribute("href") == f"{first.page.rpartition('/')[2]}.html"
    assert start.evaluate(IN_VIEW) == (width > 320)
    figure = hero(page)
    assert figure.bounding_box()["y"] <= top
    if width > 1000:  # of the three ways, and of the three places, none stands alone in a second row
        tops = page.locator(".attn-path").evaluate_all("(all) => all.map((one) => one.offsetTop)")
        assert [tops.count(top) for top in tops] == [3] * 6
    # Straight below the figure, and on a phone each way on a line of its own.
    assert start.bounding_box()["y"] < figure.bounding_box()["y"] + figure.bounding_box()["height"] + 60
    assert (longer.bounding_box()["y"] > start.bounding_box()["y"] + 40) == (width < 500)
    assert figure.locator('[data-part="arcs"] path').count() >= 3
    if width > 320:
        assert figure.locator('[data-part="token"]').last.evaluate(IN_VIEW)
    # Not the answer to the first question that the book asks: what the second *saw* looks at.
    assert figure.locator('[data-part="token"][aria-checked="true"]').inner_text().startswith("work\nverb")
    if width > 1000:
        assert figure.locator('[data-part="hide"].is-asked').evaluate(IN_VIEW)


def test_one_word_hidden_and_a_verb_is_a_noun(site):
    """What the page says: the figure asks for *to*, and *work* changes its tag, in words and in hue."""
    figure = hero(site.open(HOME))
    pill = figure.locator('[data-part="token"]').nth(3).locator("[data-kind]")
    asked = figure.locator(".attnlab-hide.is-asked")
    assert "attnlab-act" not in asked.get_attribute("class")  # ringed: filled is what begins the book
    assert asked.get_attribute("aria-label") == "hide “to”, word 3"
    said = figure.locator('[data-part="alternatives"]')
    assert "Hide" not in said.inner_text()  # the page has asked
    assert pill.inner_text() == "verb"
    before = pill.evaluate("(pill) => getComputedStyle(pill).backgroundColor")
    asked.click()
    assert pill.inner_text() == "noun"
    assert pill.evaluate("(pill) => getComputedStyle(pill).backgroundColor") != before
    whole, without = (
        TagSentence("I love to work", hidden=hidden).tagged.probabilities[3] for hidden in ([], [2])
    )
    noun, verb = (shipped.load().tags.index(tag) for tag in ("NOUN", "VERB"))
    for given in (whole, without):
        assert f"noun {100 * given[noun]:.1f}" in said.inner_text()
        assert f"verb {100 * given[verb]:.1f}" in said.inner_text()
    assert says(figure).startswith("“work”: noun.")
    assert figure.locator(".is-asked").count() == 0


@pytest.mark.parametrize("width", [1280, 768, 390, 320])
def test_the_answer_stands_below_the_word_picked_and_a_hidden_word_has_no_tag(site, width):
    figure = hero(site.open(HOME, width=width))
    tokens, said = figure.locator('[data-part="token"]'), figure.locator('[data-part="alternatives"] > span')
    first = said.first.locator("b")
    for at in (3, 0):
        tokens.nth(at).click()
        below = said.first.bounding_box()
        card = tokens.nth(at).bounding_box()
        assert below["y"] > card["y"] + card["height"]
        assert below["x"] < card["x"] + card["width"] / 2 < below["x"] + below["width"]
    tokens.nth(3).click()
    figure.locator(".is-asked").click()
    assert first.inner_text().startswith("noun 95.9")
    size, weight = first.evaluate("(b) => [getComputedStyle(b).fontSize, getComputedStyle(b).fontWeight]")
    assert (float(size[:-2]), weight) == (pytest.approx(18.4), "600")
    room = figure.locator(".attnlab-body > .attnlab-tokens").bounding_box()
    for line in said.all():
        box = line.bounding_box()
        assert room["x"] - 1 <= box["x"] <= box["x"] + box["width"] <= room["x"] + room["width"] + 1
    seen = [pill.is_visible() for pill in tokens.locator("[data-kind]").all()]
    assert seen == [True, True, False, True]


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_names_of_tags_stand_whole_in_their_pills_and_shares_say_of_what(site, width):
    page = site.open(HOME, width=width)
    for token in page.locator('[data-attnlab="tag"] [data-part="token"]').all():
        pill, card = token.locator("[data-kind]").bounding_box(), token.bounding_box()
        assert 14 < pill["height"] < 24
        assert card["x"] < pill["x"] < pill["x"] + pill["width"] < card["x"] + card["width"]
    small = hero(page).locator('[data-part="token"]').first
    assert " ".join(small.inner_text().split()) == "I small word 10 % of looks"
    # Four words stand in one row, and where the widest finds room so, are as wide as each other.
    boxes = (
        hero(page)
        .locator(".attnlab-word")
        .evaluate_all("(all) => all.map((one) => [one.offsetTop, one.getBoundingClientRect().width])")
    )
    assert len({top for top, _ in boxes}) == 1
    assert width == 320 or max(wide for _, wide in boxes) - min(wide for _, wide in boxes) < 1


@pytest.mark.parametrize(("width", "least", "most"), [(1280, 80, 86), (390, 40, 58)])
def test_arcs_rise_with_the_room_and_end_side_by_side(site, width, least, most):
    figure = hero(site.open(HOME, width=width))
    arcs = figure.locator('[data-part="arcs"] path:not([data-key="3 3"])')
    assert arcs.count() == 3
    ways = [[float(x) for x in re.findall(r"-?[\d.]+", arc.get_attribute("d"))] for arc in arcs.all()]
    rises = [0.75 * (y - top) for _, y, _, top, *_ in ways]
    assert rises == sorted(rises, reverse=True)
    assert least < rises[0] < most
    assert min(a - b for a, b in pairwise(rises)) > 7
    # They come from the left: whoever comes from farther ends nearer to the word's middle, before its loop.
    starts = [x for x, *_ in ways]
    card = figure.locator(".attnlab-word").nth(3)
    left, middle = card.evaluate("(card) => [card.offsetLeft, card.offsetLeft + card.offsetWidth / 2]")
    assert [a - b for a, b in pairwise(starts)] == pytest.approx([6, 6])
    assert left < starts[-1] < starts[0] <= middle - 16
    # What rises stays below the figure's edge.
    top = figure.locator(".attnlab-tokens").evaluate("(one) => parseFloat(getComputedStyle(one).paddingTop)")
    assert rises[0] + 6.5 <= top


def test_a_thumb_hides_a_word(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{address}/{HOME}.html")
    asked = hero(page).locator(".is-asked")
    asked.wait_for()
    assert asked.bounding_box()["height"] >= 40
    assert asked.evaluate(IN_VIEW)
    context.close()


NAMES = ("tag", "lookup", "calculator", "positions")
"""The figures of the short page that offer their gesture and nothing else."""


def test_where_one_word_is_to_be_hidden_nothing_else_is_offered(site):
    page = site.open("chapters/five_minutes")
    figures = {name: page.locator(f'[data-attnlab="{name}"]') for name in NAMES}
    offered = {
        name: one.locator(":is(.attnlab-body button, .attnlab-body input, .attnlab-body summary):visible")
        for name, one in figures.items()
    }
    for one in figures.values():
        one.scroll_into_view_if_needed()
        one.locator('[data-part="reset"]').wait_for()
    assert offered["tag"].evaluate_all("(all) => all.map((one) => one.dataset.part)") == ["token", "hide"] * 4
    assert offered["lookup"].count() == 0
    assert offered["positions"].all_inner_texts() == ["Shuffle", "As written", "none", "RoPE"]
    assert "hull" not in says(figures["lookup"])
    # Of the calculator there is one stage, no cell of it picked, and what leads on comes with one.
    scores, on = figures["calculator"], figures["calculator"].locator('[data-part="on"]')
    others = offered["calculator"].evaluate_all(
        "(all) => all.filter((one) => !one.dataset.row).map((one) => one.innerText)"
    )
    assert others == []
    assert scores.locator(":is(.is-focus, .is-source)").count() == 0
    # The one that the text asks for is ringed.
    asked = scores.locator(".is-asked > button")
    assert asked.evaluate_all("(all) => all.map((one) => one.ariaLabel)") == ["2, S row 2 column 3"]
    # Nothing but a score can be picked: a factor would lead to another question.
    pickable = scores.locator("button[data-row]:enabled").evaluate_all(
        "(all) => all.map((one) => one.ariaLabel)"
    )
    assert len(pickable) == 16
    assert all(re.search(r"\bS row", name) for name in pickable)
    asked.click()
    told = scores.locator('[data-part="formula"] .is-heard')
    assert told.inner_text() == "saw asks, a offers: 1 × 2 = 2"
    assert scores.locator("td:is(.is-focus, .is-source)").count() == 3
    assert scores.locator("th.is-source").all_inner_texts() == ["a", "saw"]
    # A query has one number: nothing is divided, and no stage says so. At the end values are mixed.
    result = scores.locator('[data-area="result"]')
    for stage, said in (("S", "Next: Weights"), ("A", "Next: Output"), ("O", "Back: Scores")):
        assert (result.get_attribute("data-name"), on.inner_text()) == (stage, said)
        if stage == "A":
            assert scores.locator('[data-area="left"] caption').inner_text() == "S"
            # As many decimals as the output that comes of them, and its formula.
            shares = result.locator("tr:has(.is-focus) td").all_inner_texts()
            assert shares == ["0.22", "0.08", "0.61", "0.08"]
        if stage == "O":
            # As many numbers as a value has, not as there are words; each is a vote for what stands above.
            for table, rows in ((scores.locator('[data-area="beside"]'), 4), (result, 4)):
                assert table.locator("button[data-row]").count() == 2 * rows
                heads = table.locator("thead th")
                assert heads.all_inner_texts() == ["verb", "noun"]
                size = heads.evaluate_all("(all) => all.map((e) => parseFloat(getComputedStyle(e).fontSize))")
                assert min(size) >= 12
            row = result.locator("tr:has(.is-focus)")
            assert row.locator("th").text_content() == "saw"
            assert row.locator("td").all_inner_texts() == ["3.61", "6.21"]
            shared = "saw takes 61 % from a, 22 % from I, 17 % from both saw"
            assert told.inner_text() == f"{shared}: 0.22 × 1 + 0.08 × 3 + 0.61 × 9 + 0.08 × 3 = 6.21"
            assert says(scores) == "Output: noun 6.21, verb 3.61: saw is rather a noun."
            # Who asks nothing takes the mean of all votes, which says nothing about it.
            result.locator('[data-row="0"][data-column="0"]').click()
            assert says(scores) == "Output: verb 6.00, noun 4.00: I asked nothing."
        on.click()
    scores.locator('[data-part="reset"]').click()
    assert scores.locator(":is(.is-focus, .is-source)").count() == 0
    figures["tag"].locator(".attnlab-hide.is-asked").click()
    assert "noun" in figures["tag"].locator('[aria-checked="true"]').inner_text()


@pytest.mark.parametrize(("width", "most"), [(1280, 650), (390, 780)])
def test_a_gesture_stands_with_its_question_and_what_it_needs_on_one_screen(site, width, most):
    page = site.open("chapters/five_minutes", width=width)
    part = page.locator('[data-attnlab="calculator"]')
    part.scroll_into_view_if_needed()
    part.locator('[data-part="reset"]').wait_for()
    heading = page.get_by_role("heading", name="Each word asks").bounding_box()
    root = part.locator(".attnlab-root").bounding_box()
    assert root["y"] + root["height"] - heading["y"] <= most


WITHIN = """(figure) => {
  const board = figure.querySelector(".attnlab-board");
  const box = board.getBoundingClientRect();
  const all = [...board.querySelectorAll("table, .is-focus, .attnlab-formula > *, [data-part=on]")];
  const out = all.filter((e) => {
    const { left, right } = e.getBoundingClientRect();
    return left < box.left || right > box.right;
  });
  return [board.scrollWidth - board.clientWidth, out.map((e) => e.outerHTML.slice(0, 80))];
}"""


SIZE_OF_NUMBERS = "(all) => all.map((one) => parseFloat(getComputedStyle(one).fontSize))"


@pytest.mark.parametrize(("width", "most"), [(1280, 440), (390, 450), (320, 605)])
def test_the_calculator_of_one_way_keeps_its_height_and_no_stage_leaves_a_hole(site, width, most):
    part = figure(site.open("chapters/five_minutes", width=width), "calculator")
    on, board = part.locator('[data-part="on"]'), ".attnlab-board"
    bottom = "(e) => e.getBoundingClientRect().bottom"
    heights, holes = [part.bounding_box()["height"]], []
    part.locator(".is-asked > button").click()
    for stage in ("S", "A", "O", "S"):
        result = part.locator('[data-area="result"]')
        assert result.get_attribute("data-name") == stage
        heights.append(part.bounding_box()["height"])
        holes.append(part.locator(board).evaluate(bottom) - result.evaluate(bottom))
        sizes = result.locator("td button").evaluate_all(SIZE_OF_NUMBERS)
        assert min(sizes) >= 13, stage
        if stage == "O":
            # Beside the weights, where they have room, a column of values for each of the output.
            tops = {part.locator(f'[data-part="matrix-{one}"] tbody').bounding_box()["y"] for one in "AVO"}
            assert (len(tops) == 1) == (width > 320)
        on.click()
    assert max(heights) - min(heights) <= 1
    assert max(heights) <= most
    assert max(holes) < 6  # less than a pixel a row, and the board's own edge


@pytest.mark.parametrize("width", [1280, 390])
def test_whether_an_arrow_turns_is_asked_and_answered_at_the_arrows_and_nothing_moves(site, width):
    page = site.open("chapters/five_minutes", width=width)
    part = figure(page, "positions")
    verdict, question = part.locator('[data-part="verdict"]'), "Does saw’s arrow turn or grow?"
    assert verdict.inner_text() == question
    assert question in page.locator("article p", has_text="Drag a word to another place").inner_text()
    top = part.locator('[data-part="shuffle"]').bounding_box()["y"] - part.bounding_box()["y"]
    for scheme, asked, said in (
        ("none", question, "No arrow turned or grew: they only moved."),
        (
            "rotary",
            "Now the two saw differ. What does a move change?",
            "The move changed all 4 arrows clearly.",
        ),
    ):
        choose(part, "scheme", scheme)  # who is to drag again begins as written
        assert verdict.inner_text() == asked
        part.locator('[data-part="handle"][data-which="0"]').press("End")
        assert verdict.inner_text() == said
        assert says(part) == "saw₁ a saw₂ I."  # and no number beside it
        shuffle = part.locator('[data-part="shuffle"]').bounding_box()["y"]
        assert shuffle - part.bounding_box()["y"] == top
    # What an eye takes for the same is not counted as a change, and the bound is said.
    part.locator('[data-part="restore"]').click()
    for token in (0, 2):
        part.locator(f'[data-part="handle"][data-which="{token}"]').press("Enter")
    assert verdict.inner_text() == "The move changed 2 arrows clearly, hardly that of I and saw₂."
    assert says(part) == "a saw₁ I saw₂. Hardly: less than a tenth of the longest arrow."
    # The two saw are one word: where they have changed places the sentence is as it was.
    part.locator('[data-part="restore"]').click()
    for token in (1, 3):
        part.locator(f'[data-part="handle"][data-which="{token}"]').press("Enter")
    assert verdict.inner_text() == "The move changed 2 arrows clearly, not that of I and a."
    assert says(part) == "I saw₂ a saw₁."
    assert part.locator('[data-part="shuffle"]').bounding_box()["y"] - part.bounding_box()["y"] == top
    # What RoPE is stands where there is a reason to want it.
    after = page.locator("article p", has_text="rotary positions")
    assert after.bounding_box()["y"] > part.bounding_box()["y"] + part.bounding_box()["height"]


@pytest.mark.parametrize("width", [390, 320])
def test_the_output_that_is_asked_about_is_seen_on_a_phone(site, width):
    """Its matrices come from other places, and are measured on their way."""
    page = site.open("chapters/five_minutes", width=width)
    page.emulate_media(reduced_motion="no-preference")
    part = page.locator('[data-attnlab="calculator"]')
    part.scroll_into_view_if_needed()
    on = part.locator('[data-part="on"]')
    part.locator(".is-asked > button").click()
    for said in ("Next: Weights", "Next: Output", "Back: Scores"):
        assert on.inner_text() == said
        part.evaluate("(e) => Promise.all(e.getAnimations({ subtree: true }).map((one) => one.finished))")
        assert part.evaluate(WITHIN) == [0, []], said
        if said.startswith("Next"):
            on.click()
    assert part.locator("td.is-focus").inner_text() == "6.21"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_formula_has_the_colours_of_its_figure(site, theme):
    page = site.open("chapters/five_minutes", theme=theme)
    got = page.locator("div.math").evaluate(
        """(div) => Object.fromEntries([...div.querySelectorAll("mi[style*=color]")].map((e) => {
          const is = getComputedStyle(e).color;
          const role = { Q: "query", K: "key", V: "value", O: "output" }[e.textContent];
          e.style.setProperty("color", `var(--attn-${role})`, "important");
          return [e.textContent, is === getComputedStyle(e).color];
        }))"""
    )
    assert got == {"O": True, "Q": True, "K": True, "V": True}


def test_no_answer_is_in_sight_before_its_question_was_tried(site):
    page = site.open("chapters/five_minutes")
    folds = page.locator("article details.saw")
    assert folds.count() == len(NAMES) + 1
    for fold, answer in zip(
        folds.all(),
        (
            "A noun",
            "direction, seen from the middle",
            "the votes of a count most",
            "a move changes arrows",
            "no training takes A across",
        ),
        strict=True,
    ):
        assert fold.get_attribute("open") is None
        assert answer in fold.text_content()
        assert answer not in page.locator("article").inner_text()


def test_under_a_word_stands_one_kind_of_number(site):
    """What it looked at, or how sure one is: with its name, and never beside the switch."""
    page = site.open(HOME)
    numbers = page.locator('[data-part="token"] > i')
    assert [text.rpartition("% ")[2] for text in numbers.all_inner_texts()] == ["of looks"] * 4


@pytest.mark.parametrize(
    ("sentence", "least", "hide", "kinds"),
    [
        ("The bus was late so I will book a taxi", "so", "will", "small word adverb"),
        ("We can can the can", "can", "the", "small word noun"),
        ("time flies like an arrow", "flies", "an", "noun verb"),
        ("They can fish", "fish", "can", "noun verb"),
        ("I want to book a table", "table", None, "noun"),
        ("and of the", "and", None, "small word"),
    ],
)
def test_of_what_is_typed_the_least_sure_word_is_picked_that_is_no_small_word_and_stays(
    site, sentence, least, hide, kinds
):
    """If there is one; and asked is for the other word that, hidden, turns it."""
    page = site.open(HOME)
    figure = hero(page)
    picked = figure.locator('[aria-checked="true"] b')
    figure.locator('[data-part="sentence"]').fill(sentence)
    assert picked.inner_text() == least
    said = figure.locator('[data-part="alternatives"]')
    if hide:
        figure.get_by_text(f"Hide “{hide}”: what does “{least}” become?").wait_for()
        figure.locator(".is-asked").click()
    else:
        figure.get_by_text("Hide a word to see who needed it.").wait_for()
    assert picked.inner_text() == least
    # The answer is said as the pills say it, and counts all of a kind.
    page.wait_for_function(
        """(figure) => {
          const first = figure.querySelector('[data-part="alternatives"] b').innerText;
          const given = [...figure.querySelectorAll('[aria-checked="true"] [data-kind]')].at(-1);
          return first.startsWith(`${given.innerText} `);
        }""",
        arg=figure.element_handle(),
    )
    now = " ".join(re.findall(r"([a-z ]+?) [\d.]+.%", said.locator("> span").first.inner_text())).strip()
    assert " ".join(now.split()).startswith(kinds)


WAYS = """(figure) => {
  const tokens = figure.querySelector(".attnlab-tokens");
  const words = [...tokens.querySelectorAll(".attnlab-word")];
  const middles = words.map((one) => [one.offsetLeft - 2, one.offsetTop + one.offsetHeight / 2]);
  const arcs = [...tokens.querySelectorAll("path")].map((arc) => {
    const [at, middle, to] = [0, 0.5, 1].map((part) => arc.getPointAtLength(arc.getTotalLength() * part));
    const least = middle.x - parseFloat(getComputedStyle(arc).strokeWidth) / 2;
    return [arc.dataset.key, [at.x, at.y], [to.x, to.y], least];
  });
  return [middles, arcs, words.map((one) => one.offsetLeft)];
}"""
"""The middle of each word's left edge; each arc's words, ends and how far left it reaches."""


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_words_that_do_not_fit_in_a_row_stand_below_one_another_with_every_arc(site, width):
    page = site.open(HOME, width=width)
    figure = hero(page)
    sentence = "my dog will bark at the bark of a tree"
    figure.locator('[data-part="sentence"]').fill(sentence)
    figure.get_by_text("Hide “of”: what does “bark” become?").wait_for()
    weights = TagSentence(sentence, word=6).weights[6]
    middles, arcs, lefts = figure.evaluate(WAYS)
    assert len(set(lefts)) == 1
    assert [key for key, *_ in arcs] == [f"6 {j}" for j, weight in enumerate(weights) if weight >= 0.02]
    for key, at, to, least in arcs:
        word = int(key.split()[1])
        assert at == pytest.approx(middles[6], abs=12)
        assert to == pytest.approx(middles[word], abs=12 if word == 6 else 0.5)
        assert 0 <= least < lefts[0] - 12
    # In the drawing that is saved all words stand in one row, and have theirs, too.
    assert saved(figure).count("<path") == len(arcs)
    # Nothing of a word is cut or broken.
    assert figure.locator('[data-part="token"] b').evaluate_all(
        "(all) => all.every((b) => b.offsetHeight < 32)"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width


SAID = """(lead) => {
  const visible = (node) => getComputedStyle(node).visibility === "visible";
  const strong = lead.querySelector("strong");
  const { top, bottom } = lead.getBoundingClientRect();
  const said = ["::before", "::after"].map((which) => getComputedStyle(strong, which));
  return {
    own: visible(lead) || visible(strong),
    fits: strong.scrollHeight <= bottom - top + 1,
    said: said.map(({ content, visibility, fontSize }) => [content, visibility, fontSize]),
    size: getComputedStyle(lead).fontSize,
  };
}"""


@pytest.mark.parametrize("width", [1280, 768, 601, 600, 390, 320])
def test_of_another_sentence_the_page_says_nothing_that_was_of_its_own(site, width):
    page = site.open(HOME, width=width)
    lead = page.locator("p:has(+ .cell)").first
    assert lead.inner_text().endswith("Hide to: what does work become?")
    assert "because" not in lead.inner_text()  # the answer comes after the question
    top = hero(page).bounding_box()["y"]
    hero(page).locator('[data-part="sentence"]').fill("They can fish")
    shown = lead.evaluate(SAID)
    told = '"A small model says what each word is. Arcs show where the picked word looked. "'
    asked = '"Hide a word: does a tag change?"'
    assert shown["said"] == [[text, "visible", shown["size"]] for text in (told, asked)]
    assert not shown["own"]
    assert shown["fits"]
    # Whoever presses finds the figure where it was.
    assert hero(page).bounding_box()["y"] == top
    hero(page).locator('[data-part="sentence"]').fill("I love to work")
    assert lead.evaluate(SAID)["own"]


@pytest.mark.parametrize("width", [390, 320])
def test_of_many_words_a_phone_shows_the_answer_and_where_to_type_below_them(site, width):
    figure = hero(site.open(HOME, width=width, height=844))
    figure.locator('[data-part="sentence"]').fill("The bus was late so I will book a taxi")
    figure.get_by_text("Hide “will”: what does “so” become?").wait_for()
    top = figure.bounding_box()["y"]
    typed = figure.locator('[data-part="sentence"]').bounding_box()
    assert typed["y"] + typed["height"] - top < (700 if width == 390 else 780)
    # The first says what the shares are of, and the others' numbers stand alone.
    shares = figure.locator('[data-part="token"] > i').all_inner_texts()
    assert ["of looks" in share for share in shares] == [True] + [False] * 9
    assert (
        min(figure.locator('[data-part="token"]').evaluate_all("(all) => all.map((one) => one.offsetHeight)"))
        >= 24
    )


@pytest.mark.parametrize(("width", "height"), [(390, 844), (390, 450), (320, 500)])
def test_where_one_types_the_field_stays_while_words_become_a_list_and_their_answer_is_in_sight(
    browser, address, width, height
):
    """The lower heights are what a keyboard leaves."""
    context = browser.new_context(viewport={"width": width, "height": height}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.clock.install()
    page.goto(f"{address}/{HOME}.html")
    figure = hero(page)
    figure.locator(".is-asked").wait_for()
    field = figure.locator('[data-part="sentence"]')
    field.tap()
    top = "(one) => one.getBoundingClientRect().top"
    stands, tops = field.evaluate(top), []
    for word in ("that", "the", "old", "man", "saw", "in", "a", "can"):
        page.keyboard.type(f" {word}")
        page.clock.run_for(300)  # what it asks for comes later, and may take another line
        tops.append(field.evaluate(top))
    assert figure.locator(".is-long").count() == 1
    said = figure.locator('[data-part="alternatives"]')
    seen = [figure.locator('[data-part="token"]').last.evaluate(IN_VIEW), said.evaluate(IN_VIEW)]
    # Read from its beginning: the list's end is below the screen, what it says is not.
    figure.locator(".attnlab-tokens").evaluate(
        "(words) => scrollTo(0, scrollY + words.getBoundingClientRect().top - 60)"
    )
    covered = said.evaluate("(said) => innerHeight - said.getBoundingClientRect().bottom")
    context.close()
    assert tops == pytest.approx([stands] * 8, abs=1.5)
    assert seen == [True, True]
    assert covered == pytest.approx(0, abs=1) or height == 844


def test_above_a_keyboard_the_word_picked_of_seven_stays_in_sight(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 500}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{address}/{HOME}.html")
    figure = hero(page)
    figure.locator(".is-asked").wait_for()
    field, hiders = figure.locator('[data-part="sentence"]'), figure.locator('[data-part="hide"]')
    field.tap()
    field.fill("I can see him now")
    five = [one.bounding_box()["height"] for one in hiders.all()]
    field.fill("The cat that I saw can't")
    hiders.nth(6).wait_for()
    figure.locator('[data-part="token"][aria-checked="true"] b', has_text="saw").wait_for()
    page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
    seven = [one.bounding_box()["height"] for one in hiders.all()]
    picked = figure.locator('[data-part="token"][aria-checked="true"]')
    named, top = picked.locator("b").inner_text(), picked.bounding_box()["y"]
    header = page.locator(".bd-header-article").bounding_box()
    context.close()
    assert (len(five), min(five) >= 40, named) == (5, True, "saw")
    assert len(seven) == 7
    assert 28 <= min(seven) <= max(seven) <= 34
    assert top >= header["y"] + header["height"]


SHARES = """async (figure) => {
  const frames = () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
  const cards = () => [...figure.querySelectorAll('[data-part="token"]')];
  const shares = () => cards().map((card) => card.querySelector("i").textContent);
  const before = shares();
  figure.querySelectorAll('[data-part="hide"]')[2].click();
  await frames();
  const turns = figure.getAnimations({ subtree: true }).filter((one) => one.effect.target.localName === "i");
  const delays = [...new Set(turns.map((one) => one.effect.getTiming().delay))];
  const pressed = shares();
  await Promise.allSettled(turns.map((one) => one.finished));
  await frames();
  return [before, pressed, delays, shares(), cards().map((card) => card.querySelectorAll("i").length)];
}"""
"""The first share that stands in each card: before a press, at once, and at the end; and when they turn."""


def test_shares_turn_with_the_tag(site):
    page = site.open(HOME)
    page.emulate_media(reduced_motion="no-preference")
    figure = hero(page)
    figure.locator(".is-asked").wait_for()
    before, pressed, delays, after, left = figure.evaluate(SHARES)
    page.emulate_media(reduced_motion="reduce")
    assert pressed == [*before[:2], "hidden", before[3]]
    assert sorted(delays) == [0, 70]  # as the tag's own: with the arc, which takes 200 to withdraw
    looks = TagSentence("I love to work", word=3, hidden=[2]).weights[3]
    assert after == [
        "hidden" if at == 2 else f"{100 * share:.0f} % of looks" for at, share in enumerate(looks)
    ]
    assert left == [1] * 4


def test_who_has_picked_a_word_keeps_it(site):
    figure = hero(site.open(HOME))
    figure.locator('[data-part="sentence"]').fill("The bus was late so I will book a taxi")
    figure.locator('[data-part="token"]').nth(7).click()
    figure.get_by_text("Hide a word to see who needed it.").wait_for()
    assert figure.locator('[aria-checked="true"] b').inner_text() == "book"


def test_what_is_tried_has_a_word_picked_and_its_arcs(site):
    figure = hero(site.open(HOME))
    arcs, picked = figure.locator('[data-part="arcs"] path'), figure.locator('[aria-checked="true"] b')
    said = figure.locator('[data-part="alternatives"]')
    for at, (word, asked) in enumerate({"saw": "a", "fish": "can", "barks": "dog"}.items()):
        figure.locator('[data-part="example"]').nth(at).click()
        figure.get_by_text(f"Hide “{asked}”: what does “{word}” become?").wait_for()
        assert figure.locator(".is-asked").get_attribute("aria-label").startswith(f"hide “{asked}”, ")
        assert picked.inner_text() == word
        assert arcs.count() >= 1
        # Of two *saw*, the one that hangs on another word. What is asked for turns each, and is named beside
        # what the word was with it.
        assert figure.locator('[data-part="token"]').last.get_attribute("aria-checked") == "true"
        pill = figure.locator('[aria-checked="true"] [data-kind]').last
        before = pill.inner_text()
        figure.locator(".is-asked").click()
        assert pill.inner_text() != before
        assert f"With “{asked}”: {pill.inner_text()} " in said.inner_text()
        figure.locator(".is-hidden ~ button").click()
    # The last of them catches it: a bark is no thing here.
    assert "barks\nnoun" in figure.locator('[data-part="token"]').last.inner_text()
    # Under one half there is no verdict.
    figure.locator('[data-part="sentence"]').fill("Sing a song")
    figure.locator('[data-part="token"]').first.click()
    assert "%, not sure · " in said.inner_text()
    figure.locator('[data-part="sentence"]').fill("")
    assert says(figure) == "Type a sentence."


@pytest.mark.parametrize(
    ("sentence", "word"),
    {"Can you book the book I want to read?": "read", "We are!": "are", "?!": "!"}.items(),
)
def test_in_a_sentence_of_ones_own_a_mark_is_picked_last(site, sentence, word):
    page = site.open(HOME)
    page.evaluate("() => { globalThis.scrollBy = (_, y) => (globalThis.moved = y); }")
    figure = hero(page)
    figure.locator('[data-part="sentence"]').fill(sentence)
    assert figure.locator('[aria-checked="true"] b').inner_text() == word
    assert page.evaluate("globalThis.moved") != 0  # where the field stayed, there is nothing to make up for


def test_one_switch_and_a_noun_is_a_verb(site):
    page = site.open(HOME)
    figure = page.locator('[data-attnlab="tag"]').nth(1)
    switch, arcs = figure.locator('[role="switch"]'), figure.locator('[data-part="arcs"]')
    words = figure.locator('[data-part="token"]')
    height = figure.evaluate("(figure) => figure.offsetHeight")
    for on in (True, False, True):
        tagged = TagSentence("I saw a saw", attention=on).tagged
        assert switch.get_attribute("aria-checked") == str(on).lower()
        # Off, they stay where they were, and are seen to carry nothing.
        arcs.locator("path").nth(8).wait_for(state="attached")
        assert arcs.locator("path").first.evaluate(DASHED) == (not on)
        assert [row[1] for row in table(figure)] == list(tagged.tags)
        for row, p in zip(table(figure), tagged.probabilities.amax(-1).tolist(), strict=True):
            assert float(row[2]) == pytest.approx(p, abs=6e-5)
        assert words.nth(3).inner_text() == f"saw\n{'noun' if on else 'verb'}"
        assert says(figure).endswith(f"saw: {'noun' if on else 'verb'}.")
        assert figure.evaluate("(figure) => figure.offsetHeight") == height
        switch.focus()
        page.keyboard.press("Space")
    assert "VERB" in run_copied(figure)[0]
    assert figure.locator("input, [role=radio], [data-part=hide]").count() == 0
    assert switch.bounding_box()["height"] >= 24


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_arcs_are_drawn_once_and_tags_turn_only_where_motion_is_wanted(site, motion):
    page = site.open(HOME)
    page.emulate_media(reduced_motion=motion)
    figure = hero(page)
    figure.locator('[data-part="token"]').first.click()
    moving = "(figure) => figure.getAnimations({ subtree: true }).map((one) => one.animationName)"
    assert ("attnlab-in" in figure.evaluate(moving)) == (motion != "reduce")
    figure.locator('[data-part="token"]').nth(3).click()
    page.wait_for_function(
        "(figure) => !figure.getAnimations({ subtree: true }).length", arg=figure.element_handle()
    )
    # The arc of the word hidden withdraws, the others change their width before one's eyes, and of the tags
    # only the one that changed turns: the old away, the new in; with it what is said of it, and shares.
    shown, turned = figure.evaluate(HIDDEN)
    page.emulate_media(reduced_motion="reduce")
    assert sorted(shown) == ([] if motion == "reduce" else ["attnlab-go"] + ["attnlab-turn"] * 11)
    assert turned == (motion != "reduce")
    # What nothing flows through is gone at the end.
    arcs = figure.locator('[data-part="arcs"]').element_handle()
    page.wait_for_function("(arcs) => arcs.children.length === 3", arg=arcs)


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
@pytest.mark.parametrize("times", [1, 4, 5])
def test_however_fast_a_word_is_hidden_and_shown_the_end_is_right_and_said_once(site, motion, times):
    page = site.open(HOME)
    page.emulate_media(reduced_motion=motion)
    figure = hero(page)
    figure.locator(".is-asked").wait_for()
    heard = figure.evaluate(PRESSED, times)
    page.emulate_media(reduced_motion="reduce")
    tagged = TagSentence("I love to work", word=3, hidden=[2] if times % 2 else [])
    assert len(heard) == times  # each result once
    assert heard[-1] == says(figure)
    assert [row[1] for row in table(figure)] == list(tagged.tagged.tags)
    pills = figure.locator('[data-part="token"] > span')
    assert pills.count() == 4
    assert pills.last.inner_text() == ("noun" if times % 2 else "verb")
    # An arc from each word looked at, and as wide as it is looked at.
    looked = {at: weight for at, weight in enumerate(tagged.weights[3].tolist()) if weight >= 0.02}
    arcs = figure.locator('[data-part="arcs"] path').evaluate_all(WIDTHS)
    assert arcs.keys() == {f"3 {at}" for at in looked}
    for at, weight in looked.items():
        assert arcs[f"3 {at}"] == pytest.approx(1 + 12 * weight, abs=0.006)


def test_what_is_for_later_waits_in_one_closed_fold_and_the_caption_counts_the_model(site):
    page = site.open(HOME)
    figure = hero(page)
    seen = figure.locator(":is(button, input, summary):visible")
    parts = "(all) => all.map((one) => one.dataset.part ?? one.parentElement.dataset.part)"
    closed = ["token", "hide"] * 4 + ["sentence"] + ["example"] * 3 + ["more"]
    assert seen.evaluate_all(parts) == closed
    unfold(figure)
    assert {"reset", "menu"} <= set(seen.evaluate_all(parts))
    figure.locator('[data-part="more"] > summary').click()
    assert seen.evaluate_all(parts) == closed
    unfold(figure)
    for part in ("numbers", "heads", "card", "reset"):
        assert figure.locator(f'[data-part="{part}"]').is_visible()
    figure.locator('[data-part="hide"]').nth(2).click()
    figure.locator('[data-part="reset"]').click()
    assert [row[4] for row in table(figure)] == ["no"] * 4
    # A word and what hides it are one card: there is one border, round both.
    borders = "(all) => all.map((one) => parseFloat(getComputedStyle(one).borderTopWidth))"
    assert set(figure.locator(".attnlab-word").evaluate_all(borders)) == {2}
    assert set(figure.locator(".attnlab-word button").evaluate_all(borders)) == {0}
    n_numbers = sum(weight.numel() for weight in shipped.load().model.parameters())
    assert f"a trained model of {n_numbers:,} numbers" in figure.locator("figcaption").inner_text()


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_once_something_has_changed_reset_stands_beside_the_fold_and_nothing_moves(site, width):
    page = site.open(HOME, width=width)
    figure = hero(page)
    reset, menu = (figure.locator(f'[data-part="{part}"]') for part in ("reset", "menu"))
    before = figure.evaluate("(figure) => figure.offsetHeight")
    assert not reset.is_visible()
    assert not menu.is_visible()
    figure.locator('[data-part="hide"]').nth(2).click()
    fold = figure.locator('[data-part="more"] > summary').bounding_box()
    for one in (reset.bounding_box(), menu.bounding_box()):
        assert fold["x"] + fold["width"] <= one["x"] + 1
        assert abs(fold["y"] + fold["height"] / 2 - one["y"] - one["height"] / 2) < 8
    assert figure.evaluate("(figure) => figure.offsetHeight") == before
    reset.click()
    assert [row[4] for row in table(figure)] == ["no"] * 4
    assert figure.locator('[data-part="undo"]').is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # What a link brings can be taken back at once.
    state = quote('{"sentence": "They can fish", "word": 2}')
    page = site.open(HOME, query=f"?tag={state}", width=width)
    hero(page).locator('[data-part="reset"]').click()
    assert hero(page).locator('[data-part="sentence"]').input_value() == "I love to work"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_hues_of_tags_can_be_read(site, theme):
    page = site.open(HOME, theme=theme)
    for pill in page.locator("[data-kind]").all():
        assert pill.evaluate(CONTRAST) >= 4.5
    assert {"noun", "verb", "small word"} <= set(page.locator("[data-kind]").all_inner_texts())


def test_of_another_sentence_the_figure_says_which_word_to_hide(site):
    page = site.open(HOME)
    figure = hero(page)
    asked, told = figure.locator(".is-asked"), page.locator("strong", has_text="Hide to")
    asked.wait_for()
    assert told.is_visible()
    height = figure.evaluate("(figure) => figure.offsetHeight")
    assert "Hide" not in figure.locator('[data-part="alternatives"]').inner_text()
    figure.locator('[data-part="example"]').nth(1).click()
    figure.get_by_text("Hide “can”: what does “fish” become?").wait_for()
    assert asked.get_attribute("aria-label") == "hide “can”, word 2"
    assert not told.is_visible()
    assert figure.evaluate("(figure) => figure.offsetHeight") == height
    figure.locator('[data-part="sentence"]').fill("I love to work")
    asked.wait_for()
    assert told.is_visible()


def test_while_the_tagger_loads_its_words_stand_in_a_frame_as_high_as_it_will_be(site):
    page = site.browser.new_page(viewport={"width": 1280, "height": 844})
    held = []
    page.route("**/tagger-model.js*", lambda route: held.append(route))
    page.goto(f"{site.address}/{HOME}.html", wait_until="commit")
    figure = hero(page)
    figure.locator(".attnlab-word").nth(3).wait_for()
    frame, words = figure.locator(".attnlab-root"), figure.locator(".attnlab-word")
    # Its edges, for its place on the page is known only when fonts are there.
    before = frame.evaluate("(frame) => frame.offsetHeight"), words.evaluate_all(PLACES)
    assert words.locator("b").all_inner_texts() == ["I", "love", "to", "work"]
    held[0].continue_()
    figure.locator(".is-asked").wait_for()
    after = frame.evaluate("(frame) => frame.offsetHeight"), words.evaluate_all(PLACES)
    page.close()
    assert before[0] == pytest.approx(after[0], abs=3)
    assert before[1] == after[1]


def test_the_menu_opens_closes_and_is_reached_by_keys(site):
    page = site.open(HOME)
    figure = hero(page)
    menu, link = figure.locator('[data-part="menu"]'), figure.locator('[data-part="link"]')
    unfold(figure)
    assert not link.is_visible()
    menu.locator("summary").focus()
    page.keyboard.press("Enter")
    assert link.is_visible()
    page.keyboard.press("Tab")
    assert link.evaluate("(button) => button === document.activeElement")
    page.keyboard.press("Escape")
    assert not link.is_visible()
    assert menu.evaluate("(menu) => menu.contains(document.activeElement)")
    menu.locator("summary").click()
    page.locator("article h1").click()
    assert not link.is_visible()
    assert copied(figure, "link").startswith("http")
    assert not link.is_visible()
    menu.locator("summary").click()
    page.keyboard.press("Shift+Tab")
    assert not link.is_visible()
    more(figure, "pytorch")


MOVED = ["chapters/api", "chapters/configuration", "chapters/licences"]
"""Pages on whose first screen something once moved: a table below a heading, the code of a figure."""


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_nothing_jumps_while_a_page_loads(site, width):
    for name in [*toc_pages()[:2], *MOVED]:
        page = site.browser.new_page(viewport={"width": width, "height": 844})
        page.add_init_script(WATCH)
        page.goto(f"{site.address}/{name}.html")
        page.wait_for_function("'attnWhole' in document.documentElement.dataset")
        page.evaluate("() => document.fonts.ready.then(() => new Promise(requestIdleCallback))")
        shift = page.evaluate("window.shift")
        page.close()
        assert shift < 0.02, name


@pytest.mark.parametrize("name", toc_pages())
def test_a_shared_link_says_what_it_leads_to_and_shows_it(book, name):
    head = parsed(book / f"{name}.html").head
    said = {tag["property"]: tag["content"] for tag in head.select("meta[property]")}
    about = head.select("meta[name=description]")
    assert len(about) == 1
    assert about[0]["content"] == said["og:description"]
    chapter = next((one for one in WRITTEN if one.page == name), None)
    if chapter:
        assert said["og:title"] == f"{chapter.label} {chapter.title}"
        assert said["og:description"] == share.questions(ROOT)[chapter.topic]
    # Nothing is said of an address that nobody has set.
    published = set_address.is_set(ROOT)
    assert len(head.select("link[rel=canonical]")) == published
    assert {"og:url", "og:image"} <= said.keys() if published else not {"og:url", "og:image"} & said.keys()
    if not published:
        return
    assert said["og:url"].endswith(f"/{name}.html")
    picture = ROOT / share.FOLDER / urlparse(said["og:image"]).path.rpartition("/")[2]
    assert (book / share.FOLDER / picture.name).read_bytes() == picture.read_bytes()
    with Image.open(picture) as image:
        assert image.size == share.SIZE == (int(said["og:image:width"]), int(said["og:image:height"]))


def test_pictures_are_of_what_their_pages_say_now():
    """`make screenshot` draws them again."""
    wanted = share.pictures(ROOT)
    stored = {path.stem: path for path in (ROOT / share.FOLDER).glob("*.png")}
    assert stored.keys() == wanted.keys()
    for name, path in stored.items():
        with Image.open(path) as image:
            assert image.text["Drawn-From"] == share.digest(wanted[name]), name
        assert path.stat().st_size < 40_000
    style = (ROOT / "_static/attnlab.css").read_text(encoding="utf-8").partition('html[data-theme="dark"]')[0]
    assert all(f"--attn-{role}: {colour};" in style for role, colour in share.COLOURS.items())


def test_every_chapter_has_a_drawing_of_its_own():
    drawn = {topic: drawings.drawing(topic) for topic in drawings.DRAWINGS}
    assert {chapter.topic for chapter in WRITTEN} <= drawn.keys()
    assert len(set(drawn.values())) == len(drawn)
    with pytest.raises(drawings.UndrawnError, match="'moonlight'"):
        drawings.drawing("moonlight")
    # As in the chapter's figure: a query among values, and no keys.
    points = [
        line.split('fill="')[1].split('"')[0]
        for line in drawn["relevance_and_averaging"].split("<")
        if "circle" in line
    ]
    assert points == [drawings.VALUE] * 5 + [drawings.OUTPUT]
    assert drawings.KEY not in drawn["relevance_and_averaging"]


def test_no_page_loads_what_sets_formulas(book):
    for name in toc_pages():
        text = (book / f"{name}.html").read_text(encoding="utf-8")
        assert not re.search(r"<script[^>]*mathjax", text, re.IGNORECASE), name
        assert text.count('class="math ') == text.count("<math"), name


def test_the_address_of_the_pages_comes_from_the_one_setting():
    class Config:
        html_baseurl = ""
        html_theme_options = {"repository_url": "https://github.com/Ada-L/notes.x/"}  # noqa: RUF012

    pages.set_theme_options(None, Config)
    assert Config.html_baseurl == "https://ada-l.github.io/notes.x/"
    Config.html_baseurl, Config.html_theme_options["repository_url"] = "", "https://github.com/OWNER/notes.x"
    pages.set_theme_options(None, Config)
    assert Config.html_baseurl == ""


@pytest.mark.parametrize("address", ["", "https://ada.github.io/notes/"])
def test_what_leads_to_the_repository_is_shown_once_it_has_an_address(address):
    config = SimpleNamespace(
        html_baseurl=address,
        root_doc="chapters/index",
        html_title="",
        html_theme_options={"repository_url": "https://github.com/Ada/notes/"},
    )
    groups = ["download-buttons", "launch-buttons", "source-buttons", None]
    buttons = [{"label": label, "buttons": []} for label in groups]
    shown = {"script_files": [], "body": "", "header_buttons": buttons, "title": "A page"}
    shown |= {"pathto": lambda name, *_: name, "theme_extra_footer": "<p>LICENCES</p>"}
    app = SimpleNamespace(
        config=config, env=SimpleNamespace(attnlab_chapters=[]), attnlab_lines={}, srcdir=ROOT
    )
    pages.mend_context(app, "chapters/x", "page.html", shown, None)
    assert [one["label"] for one in shown["header_buttons"]] == (groups if address else groups[::3])
    assert shown["theme_extra_footer"].startswith("<p>chapters/licences</p>")
    assert ('href="https://github.com/Ada/notes/discussions"' in shown["theme_extra_footer"]) == bool(address)
    share.add_tags(app, "chapters/x", "page.html", shown, None)
    assert ("og:url" in shown["metatags"]) == ("og:image" in shown["metatags"]) == bool(address)
    assert f'content="{address}chapters/x.html"' in shown["metatags"] or not address


def test_the_readers_edition_is_what_the_buttons_open():
    name = WRITTEN[0].page.rpartition("/")[2]
    hosts = {
        "https://colab.research.google.com/github/a/b/blob/main/": "notebooks",
        "https://mybinder.org/v2/gh/a/b/main?urlpath=lab/tree/": "notebooks",
        "https://github.com/a/b/edit/main/": "chapters",
    }
    buttons = [{"url": f"{host}chapters/{name}.ipynb"} for host in hosts]
    shown = {"header_buttons": [{"label": "launch-buttons", "buttons": buttons}]}
    edition.launch_edition(SimpleNamespace(srcdir=ROOT), WRITTEN[0].page, "page.html", shown, None)
    assert [one["url"] for one in buttons] == [f"{host}{place}/{name}.ipynb" for host, place in hosts.items()]


def test_the_first_chapter_rings_the_word_looked_at_most_and_then_the_one_that_decides(site):
    figure = site.open(page_of("why_attention")).locator('figure[data-attnlab="tag"]')
    asked = figure.locator(".is-asked")
    asked.wait_for()
    assert asked.get_attribute("aria-label") == "hide “saw”, word 4"
    asked.click()
    said = figure.locator('[data-part="alternatives"] > span').first
    assert said.inner_text().startswith("“saw” (word 4): noun")  # looked at most, and not needed
    figure.locator('[data-part="hide"]').nth(3).click()
    asked.wait_for()
    assert asked.get_attribute("aria-label") == "hide “a”, word 3"
    asked.click()
    assert said.inner_text().startswith("“saw” (word 4): name")
