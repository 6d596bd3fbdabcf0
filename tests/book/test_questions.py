"""Predictions and quizzes: one answers before anything is explained, and this browser remembers it."""

import json
import re
import subprocess
import sys

import pytest

from .conftest import AT_ONCE, page_of, toc_pages
from .reader import parsed, violations

CHAPTER = "scaling"
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


INK = "(root) => Number(getComputedStyle(root.closest('figure > *')).opacity)"
HIDDEN = "(part) => getComputedStyle(part).visibility === 'hidden'"
ANSWERS = """(root) => [...root.querySelectorAll('svg :is(path, rect, circle, text), td, b, p, span')]
  .filter((e) => getComputedStyle(e).visibility === 'hidden').length"""
"""How much of a covered figure is not painted."""
SEEN = """(root) => [...root.querySelectorAll('button, input, select')]
  .filter((e) => !e.closest('details:not([open]), [hidden], table'))
  .filter((e) => getComputedStyle(e).visibility === 'hidden')
  .map((e) => e.outerHTML.slice(0, 90))"""
"""Which controls of a covered figure are not painted."""


def opened(page, box):
    return (
        page.locator(box).first.locator("details.answer").evaluate_all("(all) => all.map((one) => one.open)")
    )


def test_a_figure_opens_when_one_has_said_what_one_expects(page, site):
    figure = page.locator("figure.attnlab-figure").first
    assert figure.evaluate("(figure) => figure.inert")
    assert page.locator(".attnlab-cover").is_visible()
    assert violations(page) == []
    # It is seen, and its question's answer is not: that takes a gesture.
    root = page.locator(".attnlab-covered .attnlab-root").first
    assert not root.locator(".attnlab-status").evaluate(HIDDEN)
    assert root.evaluate(ANSWERS) == 0
    assert root.evaluate(INK) < 1
    # What opens it stands in the question's box, as its last line, and nothing between box and figure.
    box = page.locator(".predict").first
    assert box.locator("> :last-child").get_attribute("class") == "attnlab-cover"
    ends = box.evaluate("(box) => box.getBoundingClientRect().bottom")
    assert figure.evaluate("(figure) => figure.getBoundingClientRect().top") - ends < 30

    choose(page, ".predict", 0)
    assert not figure.evaluate("(figure) => figure.inert")
    assert page.locator(".attnlab-cover").count() == 0
    assert root.evaluate(INK) == 1
    # First one looks: nothing is explained until one asks.
    assert opened(page, ".predict") == [False, False, False]
    assert page.locator(".predict details.right, .predict details.wrong").count() == 0
    page.get_by_role("button", name="Show the answer").click()
    assert opened(page, ".predict") == [True, True, False]
    assert page.locator(".predict details.right").count() == 1
    assert page.locator(".predict .answer-said").inner_text() == "You chose another one than that with the ✓."
    assert violations(page) == []


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
    assert page.locator(".attnlab-cover").count() == 0
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
    page.locator(".attnlab-cover").wait_for(state="attached")
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
    page.locator(".attnlab-cover").wait_for(state="attached")
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


def test_nobody_has_to_answer(page, site):
    page.get_by_role("button", name="Just open it").click()
    assert page.locator(".attnlab-cover").count() == 0
    go(page, site)
    page.get_by_role("button", name="Always open figures").click()
    go(page, site)
    assert page.locator(".attnlab-cover").count() == 0
    assert page.locator("nav.bd-links").get_by_role("button", name="Forget my answers").is_visible()


def test_a_link_to_a_state_shows_the_figure(page, site):
    go(page, site, '?saturation={"d_k":16}')
    assert page.locator(".attnlab-cover").count() == 0


def test_a_link_of_the_page_to_a_state_shows_the_figure_too(page, site):
    page.goto(f"{site.address}/chapters/playground.html")
    figure = page.locator("figure.attnlab-figure").first
    figure.locator('[data-part="reset"]').wait_for(state="attached")
    assert figure.evaluate("(figure) => figure.inert")
    page.get_by_role("link", name="Take the context away").click()
    assert not figure.evaluate("(figure) => figure.inert")
    assert page.locator(".attnlab-cover").count() == 0


@pytest.mark.parametrize("kept", ["[]", "not json", "null", '{"PAGE": 3}', '{"PAGE": {"given": 3}}'])
def test_what_a_browser_kept_wrongly_is_forgotten(page, site, kept):
    kept = kept.replace("PAGE", page_of(CHAPTER).split("/")[-1])
    page.evaluate(f"localStorage.setItem('attnlab-answers', {json.dumps(kept)})")
    go(page, site)
    choose(page, ".predict", 2)
    assert page.locator(".predict details.chosen").count() == 1


COVERED = (
    *("why_attention", "relevance_and_averaging", "scaling", "masking", "multi_head", "positional_encoding"),
    *("before_transformers", "transformer", "decoding", "real_model", "what_it_costs", "sparse_attention"),
    *("linear_attention", "todays_models", "many_devices"),
)


TELLING = {"inside", "anatomy", "ring"}
"""Figures whose first state is the answer: the others' is what the question starts from."""


def test_every_covered_figure_keeps_its_answer_and_nothing_else(page, site):
    seen = set()
    for chapter in COVERED:
        for root in go(page, site, chapter=chapter).locator(".attnlab-covered .attnlab-root").all():
            root.scroll_into_view_if_needed()
            root.locator('[data-part="reset"]').wait_for(state="attached")
            name = root.get_attribute("data-figure")
            seen.add(name)
            assert root.evaluate("(root) => Boolean(root.closest('[inert]'))"), chapter
            assert root.locator(".attnlab-status").evaluate(HIDDEN) == (name in TELLING), (chapter, name)
            assert root.evaluate(SEEN) == [], chapter
            hidden = root.evaluate(ANSWERS)
            root.evaluate("(root) => root.closest('.attnlab-covered').classList.add('is-open')")
            assert (hidden > root.evaluate(ANSWERS)) == (name in TELLING), (chapter, name)
    assert len(seen) >= 18


def test_on_a_phone_a_cover_is_two_lines(page, site):
    page.set_viewport_size({"width": 320, "height": 568})
    words = go(page, site, chapter="why_attention").locator(".attnlab-cover").first
    words.scroll_into_view_if_needed()
    assert words.bounding_box()["height"] <= 60
    tops = words.locator("button").evaluate_all("(all) => all.map((one) => one.offsetTop)")
    assert len(tops) == 2
    assert len(set(tops)) == 1


def test_without_a_script_answers_are_folds_and_on_paper_nothing_is_covered(page, site):
    page.emulate_media(media="print")
    assert page.locator(".attnlab-cover").is_hidden()
    root = page.locator(".attnlab-covered .attnlab-root").first
    assert root.evaluate(ANSWERS) == 0
    assert root.evaluate(INK) == 1
    context = site.browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(f"{site.address}/{page_of(CHAPTER)}.html")
    plain.locator(".predict summary").nth(1).click()
    assert plain.get_by_text("And at width 1024 most of them do.").is_visible()
    context.close()
