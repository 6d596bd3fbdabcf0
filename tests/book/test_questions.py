"""Predictions and quizzes: one answers before anything is explained, and this browser remembers it."""

import json
import re
import subprocess
import sys

import pytest

from .conftest import AT_ONCE, page_of, toc_pages
from .reader import parsed, violations

CHAPTER, COVERED = "scaling", "real_model"
KEPT = "JSON.parse(localStorage.getItem('attnlab-answers') ?? '{}')"


def asked(article, kind):
    """List the questions of a kind, each as its answers: what one chooses, and why or why not."""
    found = []
    for answer in article.select(f"{kind} details.answer"):
        before = answer.find_previous_sibling()
        if before is None or before.name != "details":
            found.append([])
        choice = answer.summary.get_text(" ", strip=True)
        found[-1].append((choice, answer.get_text(" ", strip=True).removeprefix(choice).strip()))
    return found


@pytest.mark.parametrize("kind", [".predict", ".quiz"])
def test_a_question_has_three_answers_and_one_is_right(book, kind):
    for name in toc_pages():
        article = parsed(book / f"{name}.html").article
        boxes = len(article.select(".predict")) if kind == ".predict" else 5 * len(article.select(".quiz"))
        questions = asked(article, kind)
        assert len(questions) == boxes, name
        for answers in questions:
            assert len({choice for choice, _ in answers}) == 3, (name, answers)
            assert [bool(re.match(r"Yes\b", why)) for _, why in answers].count(True) == 1, (name, answers)
            assert all(len(why.split()) > 2 for _, why in answers), (name, answers)


def test_what_one_saw_is_told_in_one_kind_of_fold(book):
    for name in toc_pages():
        for fold in parsed(book / f"{name}.html").select("article details"):
            if fold.summary.get_text(strip=True) == "What you saw":
                assert fold["class"] in (["saw"], ["admonition"]) or "dropdown" in fold["class"], name


FOLD = """(fold) => {
  const of = (element, names) => names.map((name) => getComputedStyle(element)[name]);
  return [...of(fold, ["marginTop", "border", "borderRadius", "backgroundColor"]),
    ...of(fold.firstElementChild, ["color", "font", "padding", "listStyleType", "borderBottom"])];
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_all_folds_look_alike(site, width):
    page = site.open(page_of("linear_attention"), width=width)
    native = page.locator("details.saw").first
    fold = page.locator(".dropdown.admonition:not(.solution)", has=page.locator("div.math")).first
    title, button = fold.locator(".admonition-title"), fold.locator(".toggle-button")
    looks = [one.evaluate(FOLD) for one in (native, fold)]
    assert looks[0] == looks[1]
    assert looks[0][-2] == "disclosure-closed"
    # Closed it is its title; the button lies over all of it.
    assert fold.bounding_box()["height"] == pytest.approx(title.bounding_box()["height"] + 2, abs=0.1)
    assert button.bounding_box()["width"] == pytest.approx(title.bounding_box()["width"], abs=1)
    title.click()
    native.locator("summary").click()
    assert button.get_attribute("aria-expanded") == "true"
    looks = [one.evaluate(FOLD) for one in (native, fold)]
    assert looks[0] == looks[1]
    assert looks[0][-2] == "disclosure-open"


@pytest.fixture
def page(site):
    """A reader's browser that remembers nothing yet, on a chapter."""
    context = site.browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    context.add_init_script(AT_ONCE)
    page = context.new_page()
    page.on("pageerror", lambda error: site.errors.append(str(error)))
    yield go(page, site)
    context.close()


def go(page, site, query="", chapter=CHAPTER):
    page.goto(f"{site.address}/{page_of(chapter)}.html{query}")
    page.locator('figure [data-part="reset"]').first.wait_for(state="attached")
    return page


def choose(page, box, nth):
    page.locator(box).first.locator("details.answer > summary").nth(nth).click()


HIDDEN = "(part) => getComputedStyle(part).visibility === 'hidden'"
ANSWERS = """(root) => [...root.querySelectorAll('svg :is(path, rect, circle, text), td, b, p, span')]
  .filter((e) => getComputedStyle(e).visibility === 'hidden').length"""
"""How much of a covered figure is not painted."""
SEEN = """(root) => [...root.querySelectorAll('button, input, select')]
  .filter((e) => !e.closest('details:not([open]), [hidden], table'))
  .filter((e) => getComputedStyle(e).visibility === 'hidden')
  .map((e) => e.outerHTML.slice(0, 90))"""
"""Which controls of a covered figure are not painted."""
GREY = """(root) => [...root.querySelectorAll('button, input, select, summary')]
  .map((e) => getComputedStyle(e)).every((style) => style.filter === 'grayscale(1)' && style.opacity < 0.6)"""
"""Whether all controls look as those do that can't be pressed."""


MARKS = """(all) => all.map((one) => {
  const { borderTopWidth, width } = getComputedStyle(one, '::before');
  return [getComputedStyle(one).listStyleType, 3 * parseFloat(borderTopWidth) > parseFloat(width)];
})"""
"""Of each answer: its mark, and whether its circle is filled."""


def opened(page, box):
    return (
        page.locator(box).first.locator("details.answer").evaluate_all("(all) => all.map((one) => one.open)")
    )


@pytest.fixture
def covered(page, site):
    """The figure of a chapter that begins with its answer, before anybody said what to expect."""
    go(page, site, chapter=COVERED)
    return page.locator("figure.attnlab-covered")


def test_a_figure_opens_when_one_has_said_what_one_expects(page, covered):
    assert covered.evaluate("(figure) => figure.inert")
    assert violations(page) == []
    # It is seen, and its question's answer is not: that takes a gesture.
    assert covered.locator(".attnlab-status").evaluate(HIDDEN)
    assert covered.locator('[data-part="reset"]').is_visible()
    choose(page, ".predict", 0)
    assert not covered.evaluate("(figure) => figure.inert")
    assert page.locator(".attnlab-cover, .attnlab-bed").count() == 0
    assert not covered.locator(".attnlab-status").evaluate(HIDDEN)
    # First one looks: nothing is explained until one asks.
    assert opened(page, ".predict") == [False, False, False]
    assert page.locator(".predict details.right, .predict details.wrong").count() == 0
    # So they are choices still, with circles, of which one is filled.
    summaries = page.locator(".predict").first.locator("summary")
    assert summaries.evaluate_all(MARKS) == [["none", True], ["none", False], ["none", False]]
    page.get_by_role("button", name="Show the answer").click()
    assert opened(page, ".predict") == [True, False, True]
    assert {mark for mark, _ in summaries.evaluate_all(MARKS)} != {"none"}
    assert page.locator(".predict details.right").count() == 1
    assert page.locator(".predict .answer-said").inner_text() == "You chose another one than that with the ✓."
    assert violations(page) == []


TOP = "(box) => box.getBoundingClientRect().top"


@pytest.mark.parametrize(("width", "height"), [(1280, 500), (320, 568)])
def test_no_press_on_a_covered_figure_is_without_answer(page, covered, width, height):
    page.set_viewport_size({"width": width, "height": height})
    box, words = page.locator(".predict").first, page.locator(".attnlab-cover > p")
    covered.evaluate("(figure) => scrollTo(0, scrollY + figure.getBoundingClientRect().bottom - 240)")
    assert box.evaluate(TOP) < -100
    place, frame = words.bounding_box(), covered.bounding_box()
    # What opens it stands over its upper edge, and covers nothing in it, wherever one scrolls.
    assert place["y"] < frame["y"]
    assert place["y"] + place["height"] <= covered.locator("select").first.bounding_box()["y"]
    assert place["x"] >= frame["x"]
    assert abs(2 * place["x"] + place["width"] - 2 * frame["x"] - frame["width"]) < 2
    page.mouse.click(frame["x"] + 30, 170)  # one of its squares, or of its words
    assert 0 <= box.evaluate(TOP) < height / 2
    assert box.evaluate("(box) => getComputedStyle(box).outlineStyle") == "solid"
    assert page.evaluate("document.activeElement.closest('.predict details.answer') !== null")
    assert covered.evaluate("(figure) => figure.inert")
    # The same by keyboard; nothing of the figure itself takes it.
    words.get_by_role("button", name="Choose an answer above").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert not covered.evaluate("(figure) => figure.inert")
    assert not box.evaluate("(box) => box.matches('.is-asked')")
    assert page.evaluate("document.activeElement.closest('.predict') === null")


LINES = "(all) => new Set(all.map((one) => Math.round(one.getBoundingClientRect().top))).size"


def test_short_answers_stand_side_by_side_where_there_is_room(page, site):
    answers = page.locator(".predict details.answer")
    assert answers.evaluate_all(LINES) == 1
    choose(page, ".predict", 1)
    assert answers.evaluate_all(LINES) == 1  # the mark on the one chosen moves none
    page.get_by_role("button", name="Show the answer").click()
    width = page.locator(".predict details[open]").evaluate("(one) => one.offsetWidth")
    assert width > 600  # what explains has the whole line
    page.set_viewport_size({"width": 320, "height": 700})
    assert answers.evaluate_all(LINES) == 3


def test_long_answers_stand_below_one_another(book):
    for name in toc_pages():
        for box in parsed(book / f"{name}.html").select("article .predict"):
            letters = sum(len(answer.get_text()) for answer in box.select("summary"))
            assert ("short" in box["class"]) == (letters <= 50), name


def test_the_first_choice_stands_and_is_remembered(page, site):
    page.locator(".predict details.answer > summary").nth(1).press("Enter")
    choose(page, ".predict", 0)  # to look below another answer is not to choose it
    name = page_of(CHAPTER).split("/")[-1]
    (kept,) = page.evaluate(KEPT)[name]["given"].values()
    assert kept == [1, True]
    go(page, site)
    assert page.locator("details.chosen > summary").inner_text().strip() == "About a third of them."


def test_a_quiz_explains_what_was_chosen(page):
    choose(page, ".quiz", 0)
    assert opened(page, ".quiz")[:3] == [True, False, False]
    said = page.locator(".quiz .answer-said").first
    assert said.inner_text() == "You chose another one than that with the ✓."
    choose(page, ".quiz", 1)
    assert opened(page, ".quiz")[:3] == [True, True, False]
    assert said.inner_text() == "You chose another one than that with the ✓."


def test_the_sidebar_counts_and_one_button_forgets(page, site):
    assert page.locator(".attnlab-progress").count() == 0
    assert page.locator(".attnlab-forget").inner_text() == "Open my progress"
    choose(page, ".predict", 1)
    choose(page, ".quiz", 0)
    link = page.locator("nav.bd-links li.current a, nav.bd-links a.current").first
    assert "2/6" in link.inner_text()
    assert page.locator(".attnlab-progress").get_attribute("title") == "2 of 6 questions answered, 1 right"
    page.get_by_role("button", name="Forget my answers").click()
    assert page.evaluate("localStorage.getItem('attnlab-answers')") is None
    page.get_by_role("button", name="Undo").click()
    page.locator("details.chosen").nth(1).wait_for(state="attached")
    assert "2/6" in link.inner_text()
    page.get_by_role("button", name="Forget my answers").click()
    page.get_by_role("button", name="Ask me again").click()
    page.locator("details.answer[data-open]").first.wait_for(state="attached")
    assert page.locator("details.chosen, .attnlab-progress").count() == 0


def test_progress_of_page_and_notebook_is_one_file(page, site, tmp_path):
    choose(page, ".predict", 1)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save my progress").click()
    assert download.value.suggested_filename == "attnlab-progress.json"
    path = tmp_path / "attnlab-progress.json"
    download.value.save_as(path)
    check = (
        "import torch; from attnbook.checks import check, report\n"
        "check('why-scores', torch.log); print(report())"
    )
    said = subprocess.run(
        [sys.executable, "-c", check], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "1 questions answered in the book, 1 right" in said.stdout
    choose(page, ".quiz", 0)
    page.get_by_role("button", name="Forget my answers").click()
    page.get_by_role("button", name="Ask me again").click()
    page.locator("details.answer[data-open]").first.wait_for(state="attached")
    page.locator(".attnlab-forget input").set_input_files(path)
    page.locator(".attnlab-progress").wait_for()
    assert page.locator(".attnlab-progress").get_attribute("title") == "1 of 6 questions answered, 1 right"
    assert page.locator(".attnlab-forget").inner_text().startswith("1 exercises solved in notebooks.")
    path.write_text("[]")
    page.locator(".attnlab-forget input").set_input_files(path)
    said = page.locator(".attnlab-forget [role=status]")
    said.wait_for()
    assert said.inner_text().startswith("attnlab-progress.json holds no progress.")
    assert page.locator(".attnlab-progress").count() == 1


def test_nobody_has_to_answer(page, covered):
    page.get_by_role("button", name="just open it").click()
    assert page.locator(".attnlab-cover").count() == 0
    covered.get_by_role("button", name="Reset").click()
    assert page.locator(".predict.is-asked").count() == 0


def test_a_link_to_a_state_shows_the_figure(page, site):
    go(page, site, "?inside={}", COVERED)
    assert page.locator(".attnlab-cover").count() == 0
    assert page.locator("figure[inert]").count() == 0


def test_a_link_of_the_page_to_a_state_shows_the_figure_too(page, covered):
    covered.evaluate("(figure) => figure.dispatchEvent(new Event('attnlab-asked'))")
    assert not covered.evaluate("(figure) => figure.inert")
    assert page.locator(".attnlab-cover").count() == 0


@pytest.mark.parametrize("kept", ["[]", "not json", "null", '{"PAGE": 3}', '{"PAGE": {"given": 3}}'])
def test_what_a_browser_kept_wrongly_is_forgotten(page, site, kept):
    kept = kept.replace("PAGE", page_of(CHAPTER).split("/")[-1])
    page.evaluate(f"localStorage.setItem('attnlab-answers', {json.dumps(kept)})")
    go(page, site)
    choose(page, ".predict", 2)
    assert page.locator(".predict details.chosen").count() == 1


TELLING = {"inside": "real_model", "anatomy": "todays_models"}
"""Figures whose first state is the answer. The others begin with what the question starts from: free."""


def test_a_figure_is_covered_if_it_begins_with_the_answer(page, site, book):
    for name in toc_pages():
        shown = {
            one["data-attnlab"]
            for one in parsed(book / f"{name}.html").select("article figure[data-attnlab]")
        }
        assert not shown & TELLING.keys() or page_of(TELLING[(shown & TELLING.keys()).pop()]) == name
    for figure, chapter in TELLING.items():
        root = go(page, site, chapter=chapter).locator(".attnlab-covered .attnlab-root")
        assert root.get_attribute("data-figure") == figure
        assert root.evaluate("(root) => Boolean(root.closest('[inert]'))"), chapter
        assert root.evaluate(SEEN) == [], chapter
        assert root.evaluate(GREY), chapter
        hidden = root.evaluate(ANSWERS)
        root.evaluate("(root) => root.closest('.attnlab-covered').classList.add('is-open')")
        assert hidden > root.evaluate(ANSWERS), chapter
        assert not root.evaluate(GREY), chapter
    for chapter in ("why_attention", "positional_encoding", "linear_attention", "many_devices"):
        go(page, site, chapter=chapter)
        assert page.locator(".predict + .cell figure[data-attnlab]").count() >= 1
        assert page.locator("figure[inert], .attnlab-cover").count() == 0, chapter


PAINTED = """(all) => all.filter((e) => getComputedStyle(e).visibility === 'visible')
  .map((e) => [e.dataset.head ?? e.dataset.side ?? e.dataset.state ?? e.dataset.step ?? '', e.textContent])"""


@pytest.mark.parametrize(
    ("figure", "parts", "shown"),
    [
        # One square of 72, and where the piece that the text spoke of looks: all squares are asked about.
        ("inside", '[data-part="map"] path', [["1.3", ""]] * 3),
        (
            "inside",
            '[data-part="lines"] [data-share]',
            [["", x] for x in ("0.04", "0.44", "0.38", "0.11")],
        ),
        # What one of two models holds: which holds less is asked.
        ("anatomy", '[data-part="curve"], [data-part="bar"]', [["first", ""]] * 2),
        ("anatomy", '[data-part="size"], [data-part="factor"]', [["first", "4.50 GiB"]]),
        ("anatomy", '[data-part="curves"] circle', [["", ""]]),
    ],
)
def test_a_covered_figure_is_not_empty_and_shows_what_was_not_asked(page, site, figure, parts, shown):
    root = go(page, site, chapter=TELLING[figure]).locator(".attnlab-covered .attnlab-root")
    assert root.locator(f":is({parts})").evaluate_all(PAINTED) == shown
    assert root.locator(f":is({parts})").count() > len(shown) or "lines" in parts


def test_without_a_script_answers_are_folds_and_on_paper_nothing_is_covered(page, site):
    go(page, site, chapter=COVERED)
    page.emulate_media(media="print")
    assert page.locator(".attnlab-cover").is_hidden()
    root = page.locator(".attnlab-covered .attnlab-root")
    assert root.evaluate(ANSWERS) == 0
    assert root.evaluate("(root) => getComputedStyle(root).opacity") == "1"
    context = site.browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(f"{site.address}/{page_of(CHAPTER)}.html")
    plain.locator(".predict summary").nth(1).click()
    assert plain.get_by_text("And at width 1024 most of them do.").is_visible()
    context.close()
