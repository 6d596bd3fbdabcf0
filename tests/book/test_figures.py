"""The figures in a page of the book: what a reader does, against the numbers that Python computes."""

import html
import json
from urllib.parse import quote

import pytest
import torch

from attnbook.widgets import Calculator, TagSentence

from .conftest import AT_ONCE, PATIENCE, page_of
from .reader import (
    SIDEWAYS,
    TOUCHING,
    assert_fits_a_thumb,
    choose,
    copied,
    figure,
    number,
    run_copied,
    saved,
    says,
    table,
    violations,
)

torch.set_num_threads(1)
X = [[1.0, 0.0], [0.5, -1.0], [0.0, 2.0]]
W_Q, W_K, W_V = [[1.0, 0.5], [0.0, 1.0]], [[1.0, 0.0], [-1.0, 1.0]], [[2.0, 0.0, 1.0], [0.0, 1.0, -1.0]]
TOKENS = ["I", "saw", "it"]
SENTENCES = [
    "",
    "What do you do ?",
    "There were many hotels there.",
    "I'd can't 3.5% of e.g. Mr. O'Neill's well-known code@example.org, no?",
    "I ❤️ 👩‍👩‍👧 saws 🙂",
    "ראיתי מסור שלום",
    "<script>window.hurt = 1</script> <img src=x onerror=window.hurt=2>",
    "naïve café ﬁne İstanbul ǅ ß",
]


@pytest.fixture(scope="module")
def bench(page_with):
    return page_with(TagSentence("I saw a saw", word=3)._repr_html_(), calculator()._repr_html_())


def calculator(**changes) -> Calculator:
    given = {"X": X, "W_q": W_Q, "W_k": W_K, "W_v": W_V, "tokens": TOKENS}
    return Calculator(**(given | changes))


@pytest.fixture
def page(site, bench):
    return site.figures(bench)


def assert_tagged(part, expected: TagSentence):
    tagged = expected.tagged
    rows = table(part)
    assert [row[0] for row in rows] == list(tagged.tokens)
    assert [row[1] for row in rows] == list(tagged.tags)
    for row, p in zip(rows, tagged.probabilities.amax(-1).tolist(), strict=True):
        assert float(row[2]) == pytest.approx(p, abs=6e-5)
    if 0 <= expected.word < len(rows):
        for row, weight in zip(rows, expected.weights[expected.word].tolist(), strict=True):
            assert float(row[3]) == pytest.approx(weight, abs=6e-5)
    assert [row[4] == "yes" for row in rows] == [at in expected.hidden for at in range(len(rows))]


def assert_attended(part, expected: Calculator):
    numbers = torch.cat((expected.weights, expected.output), -1).tolist()
    rows = table(part)
    assert [row[0] for row in rows] == expected.tokens
    for row, wanted in zip(rows, numbers, strict=True):
        assert [number(cell) for cell in row[1:]] == pytest.approx(wanted, abs=6e-5)


def test_the_tagger_shows_what_python_computes(page):
    tag = figure(page, "tag")
    assert_tagged(tag, TagSentence("I saw a saw", word=3))
    assert [row[1] for row in table(tag)] == ["PRON", "VERB", "DET", "NOUN"]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_any_sentence_is_tagged_as_in_python(page, sentence):
    tag = figure(page, "tag")
    tag.locator('[data-part="sentence"]').fill(sentence)
    assert_tagged(tag, TagSentence(sentence))
    assert tag.locator('[data-part="error"]').is_hidden()
    assert page.evaluate("window.hurt === undefined")


def test_a_very_long_sentence_is_cut_and_says_so(page):
    tag = figure(page, "tag")
    tag.locator('[data-part="sentence"]').fill("I saw a saw . " * 400)
    assert len(table(tag)) == 128
    assert "128" in says(tag)
    assert tag.locator('[data-part="error"]').is_hidden()


def test_a_word_is_picked_with_the_keyboard_and_a_head_by_click(page):
    tag = figure(page, "tag")
    tag.locator('[data-part="token"]').nth(3).focus()
    page.keyboard.press("ArrowRight")
    assert_tagged(tag, TagSentence("I saw a saw", word=0))
    page.keyboard.press("ArrowRight")
    assert_tagged(tag, TagSentence("I saw a saw", word=1))
    head = tag.locator('[data-part="heads"] [role="radio"], [data-part="heads"] input').nth(2)
    assert not head.is_visible()  # who meets the figure first knows of no heads
    tag.locator('[data-part="each"] > summary').click()
    value = head.get_attribute("data-value") or head.get_attribute("value")
    head.click()
    assert_tagged(tag, TagSentence("I saw a saw", word=1, head=value))
    tag.locator('[data-part="reset"]').click()
    assert_tagged(tag, TagSentence("I saw a saw", word=3))


def test_a_word_is_hidden_and_shown_again_by_click_and_by_key(page):
    tag = figure(page, "tag")
    hide = tag.locator('[data-part="hide"]')
    assert "hidden" not in says(tag).lower()
    hide.nth(2).click()
    without = TagSentence("I saw a saw", word=3, hidden=[2])
    assert_tagged(tag, without)
    assert without.tagged.tags[3] == "PROPN"
    assert says(tag) == "“saw” (word 4): name. It looks most at itself: 58\u00a0%. Hidden: “a”."
    assert "With “a”: name" in tag.locator('[data-part="alternatives"]').inner_text()
    shown, _ = run_copied(tag)
    assert "PROPN" in shown
    assert ">hidden</text>" in saved(tag)
    page.goto(copied(tag, "link"))
    tag = figure(page, "tag")
    assert_tagged(tag, without)
    tag.locator('[data-part="hide"]').nth(3).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert_tagged(tag, TagSentence("I saw a saw", word=3, hidden=[0, 2]))
    page.keyboard.press("Enter")
    assert_tagged(tag, without)
    tag.locator('[data-part="sentence"]').fill("I saw a watch")
    assert_tagged(tag, TagSentence("I saw a watch"))


@pytest.mark.parametrize(("width", "most"), [(1280, 500), (390, 560), (320, 620)])
def test_nothing_moves_when_a_word_is_picked_or_hidden(site, bench, width, most):
    page = site.figures(bench, width=width, height=800)
    tag = figure(page, "tag")
    heights = []

    def look():
        heights.append(tag.locator(".attnlab-root").evaluate("(root) => root.offsetHeight"))

    look()
    for word in (3, 1):
        tag.locator('[data-part="token"]').nth(word).click()
        look()
    tag.locator('[data-part="hide"]').nth(2).click()
    look()
    tag.locator('[data-part="token"]').nth(3).click()
    look()
    # The tag that it has with nothing hidden is among those named, in both lines.
    now, before = tag.locator('[data-part="alternatives"] > span').all_inner_texts()
    without = TagSentence("I saw a saw", hidden=[2]).tagged.probabilities[3]
    whole = TagSentence("I saw a saw").tagged.probabilities[3]
    at = int(whole.argmax())
    assert f"noun {100 * without[at].item():.1f}" in now
    assert f"noun {100 * whole[at].item():.1f}" in before
    assert len(set(heights)) == 1, heights
    assert heights[0] <= most
    # The folds stand in one line with the buttons, on most phones too; what the figure shows is said
    # to those who hear it.
    fold, reset = (tag.locator(part).bounding_box() for part in ('[data-part="each"]', '[data-part="reset"]'))
    assert fold["x"] + fold["width"] <= reset["x"]
    if width > 320:
        assert max(fold["y"], reset["y"]) < min(box["y"] + box["height"] for box in (fold, reset))
    assert tag.locator('[data-part="status"]').bounding_box()["width"] <= 1
    tag.locator('[data-part="reset"]').click()
    assert tag.locator('[data-part="status"]').bounding_box()["width"] > 20
    assert tag.evaluate(TOUCHING) == []


def test_a_figure_whose_weights_do_not_load_says_so(site, bench):
    context = site.browser.new_context()
    context.set_default_timeout(PATIENCE)
    context.add_init_script(AT_ONCE)
    context.route("**/tagger-model.js", lambda route: route.abort())
    page = context.new_page()
    page.goto(f"{site.address}/{bench}.html")
    error = page.locator('figure[data-attnlab="tag"] [data-part="error"]')
    error.wait_for()
    assert "did not load" in error.inner_text()
    # The other figure of the page stands.
    assert_attended(figure(page, "calculator"), calculator())
    context.close()


def test_settings_that_do_not_fit_show_an_error_not_a_blank(site, page_with):
    broken = calculator()
    broken.W_q = [[1.0, 2.0]]
    with pytest.raises(RuntimeError):
        broken.table()

    settings = html.escape(json.dumps(broken.settings()))
    mount = f'<figure class="attnlab-figure" data-attnlab="calculator" data-settings="{settings}"></figure>'
    page = site.open(page_with(mount))
    assert "W_q must have 2 rows for X, not 1." in page.locator('[data-part="error"]').inner_text()
    site.errors.clear()


def test_an_edited_number_changes_the_output_as_torch_says(page):
    part = figure(page, "calculator")
    assert_attended(part, calculator())
    cell = part.locator('[data-part="matrix-X"] input').nth(3)
    cell.fill("1.5")
    cell.press("Enter")
    edited = [row[:] for row in X]
    edited[1][1] = 1.5
    assert_attended(part, calculator(X=edited))
    part.locator('[data-part="causal"]').check()
    assert_attended(part, calculator(X=edited, causal=True))
    cell.fill("1e")
    cell.press("Enter")
    assert "is not a number" in says(part)
    assert says(part).endswith("1.5 stays.")
    assert_attended(part, calculator(X=edited, causal=True))
    assert [cell.input_value(), cell.get_attribute("aria-invalid")] == ["1e", "true"]
    cell.blur()
    assert [cell.input_value(), cell.get_attribute("aria-invalid")] == ["1.5", "false"]
    part.locator('[data-part="reset"]').click()
    assert_attended(part, calculator())


def test_the_six_stages_show_their_matrices(page):
    part = figure(page, "calculator")
    x, wq, wk = (torch.tensor(m, dtype=torch.float64) for m in (X, W_Q, W_K))
    scores = x @ wq @ (x @ wk).T
    wanted = {
        2: ("Q", x @ wq),
        3: ("S", scores),
        4: ("scaled", scores / 2**0.5),
        6: ("O", calculator().output),
    }
    for stage in range(2, 7):
        part.locator('[data-part="next"]').click()
        assert f"Stage {stage} of 6" in says(part)
        if stage in wanted:
            name, matrix = wanted[stage]
            cells = part.locator(f'[data-part="matrix-{name}"] button').all_text_contents()
            shown = [number(cell) for cell in cells]
            assert shown == pytest.approx(matrix.flatten().tolist(), abs=5.1e-3)
        assert part.locator('[data-part="formula"]').inner_text().strip()
    assert part.locator('[data-part="next"]').is_disabled()


def test_a_factor_of_one_is_not_told(site, page_with):
    narrow = calculator(W_q=[[2.0], [0.0]], W_k=[[1.0], [1.0]])
    page = site.open(page_with(calculator()._repr_html_() + narrow._repr_html_()))
    for at, head, told in ((0, "S × 0.707", "made smaller"), (1, "S", "the scores as they are")):
        part = figure(page, "calculator", at)
        for stage in (4, 5):
            choose(part, "stages", stage)
            assert part.locator('[data-part="matrix-scaled"] caption').inner_text() == head
            assert (told in says(part)) == (stage == 4)
            # What is the same is not shown twice.
            assert part.locator('[data-part="matrix-S"]').count() == (stage == 4 and not at)


def marked(part, matrix, kind="is-source") -> list[tuple[int, int]]:
    """Read which cells of a matrix are marked, by row and column as they stand."""
    cells = part.locator(f'[data-part="matrix-{matrix}"] td.{kind} > *')
    return cells.evaluate_all("(all) => all.map((e) => [Number(e.dataset.row), Number(e.dataset.column)])")


def test_a_number_marks_the_row_and_the_column_that_make_it(page):
    part = figure(page, "calculator")
    part.locator('[data-part="stages"] [data-value="3"]').click()
    part.locator('[data-part="matrix-S"] button').nth(5).click()
    assert marked(part, "S", "is-focus") == [[1, 2]]
    assert marked(part, "Q") == [[1, 0], [1, 1]]
    assert marked(part, "K") == [[0, 2], [1, 2]]  # keys stand upright: a column is a key
    keys = part.locator('[data-part="matrix-K"] button').all_text_contents()
    upright = (torch.tensor(X) @ torch.tensor(W_K)).T
    assert [number(key) for key in keys] == pytest.approx(upright.flatten().tolist(), abs=5.1e-3)
    # The row, the column and the number stand in line.
    box = part.locator('[data-part="matrix-S"] td.is-focus').bounding_box()
    left = part.locator('[data-part="matrix-Q"] td.is-source').first.bounding_box()
    top = part.locator('[data-part="matrix-K"] td.is-source').first.bounding_box()
    assert abs(left["y"] - box["y"]) <= 1
    assert abs(top["x"] - box["x"]) <= 1
    page.keyboard.press("ArrowUp")
    assert marked(part, "S", "is-focus") == [[0, 2]]
    assert marked(part, "Q") == [[0, 0], [0, 1]]
    part.locator('[data-part="matrix-K"] button').nth(4).click()  # second row, second column: key 2, entry 2
    assert part.locator('[data-part="formula"] .is-heard').text_content().startswith("saw offers: ")


FRAME = """(cells) => [cells[0], document.createElement("i")].map((el, probe) => {
  if (probe) Object.assign(el.style, { color: "var(--fig-%s)" }), cells[0].closest("figure").append(el);
  const { boxShadow, color } = getComputedStyle(el);
  return probe ? color : boxShadow.split(") ")[0] + ")";
})"""


def test_what_is_picked_stays_picked_from_stage_to_stage_and_each_factor_has_its_own_colour(page):
    part = figure(page, "calculator")
    choose(part, "stages", 3)
    part.locator('[data-part="matrix-S"] button').nth(5).click()
    for name in ("scaled", "A", "O"):
        part.locator('[data-part="next"]').click()
        assert marked(part, name, "is-focus") == [[1, 2]], name
    choose(part, "stages", 5)
    assert marked(part, "A", "is-focus") == [[1, 2]]
    for stage, name, role in ((3, "Q", "query"), (3, "K", "key"), (6, "V", "value"), (6, "A", "ink")):
        choose(part, "stages", stage)
        framed, wanted = part.locator(f'[data-part="matrix-{name}"] td.is-source').evaluate_all(FRAME % role)
        assert framed == wanted, name
    choose(part, "stages", 2)
    part.locator('[data-part="matrix-Wq"] input').nth(2).focus()
    choose(part, "stages", 3)
    assert marked(part, "S", "is-focus") == [[0, 0]]  # a row of weights is no token


def test_on_a_phone_the_stage_is_named_between_two_arrows(site, bench):
    part = figure(site.figures(bench, width=320, height=700), "calculator")
    assert part.locator('[data-part="stages"]').is_hidden()
    name = part.locator(".attnlab-where")
    for stage in ("1 of 6: Input", "2 of 6: Q, K, V", "3 of 6: Scores"):
        assert name.inner_text() == f"Stage {stage}"
        ends = [part.locator(f'[data-part="{end}"]').bounding_box() for end in ("previous", "next")]
        box = name.bounding_box()
        assert ends[0]["x"] + ends[0]["width"] <= box["x"] < box["x"] + box["width"] <= ends[1]["x"]
        assert all(end["y"] <= box["y"] < end["y"] + end["height"] for end in ends)
        part.locator('[data-part="next"]').click()


def to_stage(part, stage):
    """Go to a stage where its name may have no room."""
    part.locator(f'[data-part="stages"] [data-value="{stage}"]').dispatch_event("click")


SIZES = """(board) => [...board.querySelectorAll("[data-area] td.attnlab-cell")].map((e) => e.offsetWidth)"""
ROOMS = """(board) => {
  const tables = [...board.querySelectorAll("[data-area]")].map((e) => e.getBoundingClientRect());
  const [top, bottom] = [Math.min(...tables.map((e) => e.top)), Math.max(...tables.map((e) => e.bottom))];
  const formula = board.querySelector(".attnlab-formula").getBoundingClientRect();
  return [top - formula.bottom, board.getBoundingClientRect().bottom - bottom];
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_what_the_text_asks_to_change_is_ringed_and_nothing_else_until_it_was_tried(site, width):
    part = figure(site.open(page_of("queries_keys_values"), width=width), "calculator")
    asked, act = part.locator(".is-asked"), part.locator(".attnlab-act:visible")
    fold, play = part.locator("summary", has_text="More: weights"), part.locator('[data-part="play"]')
    for _ in range(2):
        assert asked.locator("input").get_attribute("aria-label") == "Wq row 2 column 1"
        assert part.locator('[data-part="formula"] .is-heard').inner_text() == "I asks: 1 × 2 + 0 × 0 = 2"
        assert act.count() == 0
        # Who taps and types replaces the number that stands there.
        asked.locator("input").click()
        part.page.keyboard.type("-1")
        part.page.keyboard.press("Enter")
        assert part.locator('[data-part="matrix-Wq"] input').nth(1).input_value() == "-1"
        assert asked.count() == 0
        # The share that the text asks for is told at once, and what is filled leads to it on its stage.
        told = part.locator('[data-part="formula"] .is-heard').inner_text().replace("\xa0", " ")
        assert told == "saw takes from it: 0.33 before, 0.16 now"
        assert act.inner_text() == ("5 Weights" if width > 420 else "→")
        for _ in range(1 if width > 420 else 3):
            act.click()
        assert marked(part, "A", "is-focus") == [[1, 2]]
        part.locator('[data-part="reset"]').click()
    # On a phone a fold has what is not pressed first, and Q, K and V stand beside the formula.
    assert play.is_visible() == (width > 420)
    product, formula = (part.locator(f'[data-part="{one}"]').bounding_box() for one in ("product", "formula"))
    assert product["y"] < formula["y"] + formula["height"]
    assert formula["y"] < product["y"] + product["height"]
    if width < 420:
        fold.click()
        assert [play.is_visible(), part.locator('[data-part="causal"]').is_visible()] == [True, True]
        sizes = part.locator(".attnlab-board td > *").evaluate_all(
            "(all) => all.map((e) => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(sizes) >= 13


def test_where_there_is_room_the_matrices_in_play_have_it(site):
    part = figure(site.open(page_of("queries_keys_values"), width=1280), "calculator")
    board, heights = part.locator(".attnlab-board"), set()
    for stage in range(1, 7):
        choose(part, "stages", stage)
        assert min(board.evaluate(SIZES)) >= 90, stage
        left, right, _ = board.evaluate(MARGINS)
        assert stage == 1 or left + right <= 0.45 * board.bounding_box()["width"], stage  # one matrix is one
        above, below = board.evaluate(ROOMS)
        assert min(above, below) >= 8, stage
        assert abs(above - below) <= 8, stage
        heights.add(part.bounding_box()["height"])
        # Nothing stands there of what is to come.
        assert board.locator("[data-area]").count() == [1, 3, 3, 1, 2, 3][stage - 1]
    assert len(heights) == 1
    assert violations(part.page) == []


def test_a_number_stands_in_the_middle_of_its_cell(site, bench):
    for width in (390, 1280):
        part = figure(site.figures(bench, width=width, height=700), "calculator")
        for stage in range(1, 7):
            to_stage(part, stage)
            aligned = part.locator(".attnlab-board td.attnlab-cell > *").evaluate_all(
                "(all) => all.map((e) => getComputedStyle(e).textAlign)"
            )
            assert set(aligned) == {"center"}


PLACE_OF_NEXT = """(figure) => figure.querySelector('[data-part="next"]').getBoundingClientRect().top -
  figure.getBoundingClientRect().top"""
MARGINS = """(board) => {
  const tables = [...board.querySelectorAll("table")].map((table) => table.getBoundingClientRect());
  const { left, right, bottom } = board.getBoundingClientRect();
  const far = (side, most) => Math[most](...tables.map((table) => table[side]));
  return [far("left", "min") - left, right - far("right", "max"), bottom - far("bottom", "max")];
}"""


def test_a_stage_stands_in_the_middle_below_the_buttons_and_what_is_below_never_moves(site, bench):
    wide, high = [*X, [1.0, 1.0], [2.0, 0.0]], [[1.0], [0.0]]
    for changes in ({}, {"X": wide, "tokens": list("abcde")}, {"W_q": high, "W_k": high}):
        settings = quote(json.dumps(calculator(**changes).settings()))
        for width in (1280, 390, 320):
            part = figure(site.open(bench, width=width, query=f"?calculator={settings}"), "calculator")
            places, heights, rooms = set(), set(), []
            for stage in range(1, 7):
                to_stage(part, stage)
                left, right, below = part.locator(".attnlab-board").evaluate(MARGINS)
                rooms.append(below)
                if left > 0:  # else it scrolls
                    assert abs(left - right) < 3, (stage, width)
                places.add(part.evaluate(PLACE_OF_NEXT))
                heights.add(part.bounding_box()["height"])
            # What is pressed stays under the finger, and what is below stays, too.
            assert len(places) == len(heights) == 1, (changes, width)
            # The room of the tallest, and no more; where there is room, as much below it as above.
            assert 0 <= min(rooms) < (15 if width > 760 else 3), width


AT_THE_CLICK = """(figure) => {
  const board = figure.querySelector(".attnlab-board");
  const press = (name) => figure.querySelector(`[data-part="${name}"]`).click();
  const stood = (name) => figure.querySelector(`[data-name="${name}"]`).getBoundingClientRect();
  ["previous", "next"].forEach(press); // what moves when the next stage is asked for, goes on from there
  const q = stood("Q");
  press("next");
  const moving = board.getAnimations({ subtree: true }).filter((one) => !(one instanceof CSSTransition));
  const [x, y] = ["left", "top"].map((side) => stood("Q")[side] - q[side]);
  const seen = ["Q", "K", "S"].map((name) => Number(
    getComputedStyle(figure.querySelector(`[data-name="${name}"]`)).opacity));
  moving.forEach((one) => one.finish());
  return { moving: moving.length, moved: [x, y], seen, high: board.offsetHeight };
}"""


def test_what_came_out_goes_where_it_is_a_factor_unless_motion_is_unwanted(site, bench):
    page = site.open(bench)
    part = figure(page, "calculator")
    choose(part, "stages", 2)
    still = part.evaluate(AT_THE_CLICK)
    assert still["moving"] == 0
    page.emulate_media(reduced_motion="no-preference")
    choose(part, "stages", 2)
    moved = part.evaluate(AT_THE_CLICK)
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
    choose(part, "stages", 2)
    hidden = part.evaluate(AT_THE_CLICK)
    page.emulate_media(reduced_motion="reduce")
    assert hidden["moving"] == 0
    # At the click all is where it was and what is new can't be seen; then it stands as without motion.
    assert moved["moving"] == 3
    assert moved["moved"] == pytest.approx([0, 0], abs=1)
    assert max(map(abs, still["moved"])) > 20
    assert moved["seen"] == [1, 0, 0]
    assert moved["high"] == still["high"]


TINTS = """(table) => {
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const root = table.closest(".attnlab-root");
  const over = (...colours) => {
    for (context.fillStyle of colours) context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const paper = getComputedStyle(root).backgroundColor;
  return [...table.querySelectorAll("td button")].map((cell) => {
    const ground = over(paper, getComputedStyle(cell.parentElement).backgroundColor);
    const [a, b] = [light(ground), light(over(getComputedStyle(cell).color))].sort((a, b) => b - a);
    return { contrast: (a + 0.05) / (b + 0.05), tint: over(paper).map((c, i) => Math.abs(c - ground[i])),
      hue: ground[0] - ground[2], text: cell.textContent };
  });
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_cells_are_tinted_by_the_size_of_their_number_and_its_sign(site, bench, theme):
    page = site.figures(bench, theme=theme)
    part = figure(page, "calculator")
    part.locator('[data-part="causal"]').check()
    for stage, name in ((3, "S"), (4, "S"), (4, "scaled"), (5, "A"), (6, "O")):
        choose(part, "stages", stage)
        cells = part.locator(f'[data-part="matrix-{name}"]').evaluate(TINTS)
        assert min(cell["contrast"] for cell in cells) >= 4.5
        assert max(sum(cell["tint"]) for cell in cells) > 60
        # Only the output has its matrix's tint where it is nothing.
        nothing = [cell["tint"] for cell in cells if cell["text"] in ("0.00", "−∞")]
        assert all(any(tint) == (name == "O") for tint in nothing)
        below, above = ([c for c in cells if c["text"].startswith("−") is sign] for sign in (True, False))
        for signed in (below, above):
            sizes = {cell["text"]: sum(cell["tint"]) for cell in signed if "∞" not in cell["text"]}
            tints = [sizes[text] for text in sorted(sizes, key=lambda text: abs(number(text)))]
            assert tints == sorted(tints), (name, sizes)
        if name == "S":
            assert max(cell["hue"] for cell in above) < min(cell["hue"] for cell in below)


HUE = """(table) => [...table.querySelectorAll("td.attnlab-cell")].map((td) => {
  const colour = getComputedStyle(td.closest("[data-area]").querySelector("caption")).color;
  const mixed = (part) => `color-mix(in srgb, ${colour} ${part}%, transparent)`;
  const probe = td.closest(".attnlab-root").appendChild(document.createElement("i"));
  const { backgroundColor, borderTopColor } = getComputedStyle(td);
  const drawn = (colour) => ((probe.style.color = colour), getComputedStyle(probe).color);
  const wanted = [9, 20, 35].map((part) => drawn(mixed(part)));
  probe.remove();
  return [wanted.indexOf(backgroundColor), wanted.indexOf(borderTopColor)];
})"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_views_of_the_tokens_have_the_tint_of_their_name_and_more_of_it_where_they_are_factors(
    site, bench, theme
):
    part = figure(site.figures(bench, theme=theme), "calculator")
    for stage, product, name in (
        (2, "Q", "Q"),
        (2, "K", "K"),
        (2, "V", "V"),
        (3, "", "Q"),
        (3, "", "K"),
        (6, "", "V"),
    ):
        choose(part, "stages", stage)
        if product:
            choose(part, "product", product)
        matrix = part.locator(f'[data-part="matrix-{name}"]')
        assert {tuple(one) for one in matrix.evaluate(HUE)} == ({(0, 2)} if product else {(0, 2), (1, 2)}), (
            name
        )
        assert min(cell["contrast"] for cell in matrix.evaluate(TINTS)) >= 4.5
        # Its name is no smaller than the text.
        assert (
            float(matrix.locator("caption").evaluate("(e) => parseFloat(getComputedStyle(e).fontSize)")) >= 16
        )


@pytest.mark.parametrize("width", [320, 1280])
def test_while_no_cell_is_picked_one_is_ringed_and_it_tells_nothing_else(site, page_with, width):
    name = page_with(calculator(stage=3, focus=None, only=True)._repr_html_())
    part = figure(site.open(name, width=width), "calculator")
    scores = torch.tensor(X) @ torch.tensor(W_Q) @ (torch.tensor(X) @ torch.tensor(W_K)).T
    largest = [int(at) for at in torch.unravel_index(scores.argmax(), scores.shape)]
    asked = part.locator("td.is-asked")
    for _ in range(2):
        assert asked.count() == 1
        assert asked.evaluate("(e) => getComputedStyle(e).outlineStyle") == "dashed"
        cell = asked.locator("button")
        assert [int(cell.get_attribute(f"data-{side}")) for side in ("row", "column")] == largest
        assert part.locator(":is(.is-focus, .is-source)").count() == 0
        on = part.locator('[data-part="on"]')
        assert on.is_hidden()
        place = cell.bounding_box()
        cell.click()
        assert asked.count() == 0
        assert part.locator(".is-focus").count() == 1
        assert on.is_visible()
        # No button comes between: at most its formula has a line more.
        assert part.locator(".is-focus").bounding_box()["y"] - place["y"] < 30
        part.locator('[data-part="reset"]').click()


def test_who_has_picked_a_score_goes_on_to_the_output_by_one_button(site, page_with):
    name = page_with(calculator(stage=3, focus=None, only=True)._repr_html_())
    part = figure(site.open(name), "calculator")
    part.locator("td.is-asked button").click()
    on = part.locator('[data-part="on"]')
    seen = []
    for _ in range(4):
        (result,) = part.locator('[data-area="result"]').all()
        seen.append((result.get_attribute("data-name"), on.inner_text()))
        row, _ = marked(part, seen[-1][0], "is-focus")[0]
        on.click()
    assert seen == [
        ("S", "Next: Scaled"),
        ("scaled", "Next: Weights"),
        ("A", "Next: Output"),
        ("O", "Back: Scores"),
    ]
    # Who was picked at first stays picked, to the end and back.
    assert marked(part, "S", "is-focus")[0][0] == row
    assert on.inner_text() == "Next: Scaled"


INSIDE = """(part) => [...part.querySelectorAll(".attnlab-board td button")].flatMap((cell) => {
  const text = document.createRange();
  text.selectNodeContents(cell);
  const [inner, outer] = [text, cell.parentElement].map((e) => e.getBoundingClientRect());
  return inner.left > outer.left && inner.right < outer.right ? [] : [cell.textContent];
})"""


@pytest.mark.parametrize("width", [320, 1280])
def test_every_number_of_the_calculator_stays_in_its_cell(site, bench, width):
    page = site.figures(bench, width=width, height=700)
    part = figure(page, "calculator")
    for value in ("-1", "-10"):
        to_stage(part, 2)
        field = part.locator('[data-part="matrix-Wq"] input').first
        assert field.get_attribute("inputmode") is None  # a phone's keypad of digits has no minus
        field.fill(value)
        field.press("Enter")
        for stage in range(2, 7):
            to_stage(part, stage)
            assert part.evaluate(INSIDE) == [], (value, stage)


def test_the_three_views_come_one_at_a_time(page):
    part = figure(page, "calculator")
    part.locator('[data-part="next"]').click()
    for name, w in (("K", W_K), ("V", W_V), ("Q", W_Q)):
        part.locator(f'[data-part="product"] [data-value="{name}"]').click()
        cells = part.locator(f'[data-part="matrix-{name}"] button').all_text_contents()
        want = torch.tensor(X) @ torch.tensor(w)
        assert [number(cell) for cell in cells] == pytest.approx(want.flatten().tolist(), abs=5.1e-3)
        assert part.locator("table[data-part^=matrix]").count() == 3
        part.locator(f'[data-part="matrix-W{name.lower()}"] input').first.focus()
        assert part.locator(f'[data-part="matrix-{name}"]').count() == 1


def test_the_calculator_plays_through_the_numbers_of_a_stage(timed, bench):
    part = timed(bench, "calculator")
    play = part.locator('[data-part="play"]')
    play.click()  # the input comes from nothing: the next stage plays
    assert part.locator('[data-part="stages"] [aria-checked="true"]').inner_text() == "2 Q, K, V"
    assert play.inner_text() == "Pause"
    assert marked(part, "Q", "is-focus") == [[0, 0]]
    part.page.clock.run_for(1000)
    assert marked(part, "Q", "is-focus") == [[0, 1]]
    part.locator('[data-part="stages"] [data-value="6"]').click()
    part.locator('[data-part="matrix-O"] button').nth(6).click()
    play.click()
    assert play.inner_text() == "Pause"
    assert marked(part, "O", "is-focus") == [[2, 1]]
    assert marked(part, "O", "is-due") == [[2, 2]]  # what is still to be made is pale
    part.page.clock.run_for(1000)
    assert marked(part, "O", "is-focus") == [[2, 2]]
    assert marked(part, "A") == [[2, 0], [2, 1], [2, 2]]
    part.page.clock.run_for(5000)
    assert play.inner_text() == "Play"  # it stays at the last number; a press begins again
    assert marked(part, "O", "is-focus") == [[2, 2]]
    assert marked(part, "O", "is-due") == []
    play.click()
    assert marked(part, "O", "is-focus") == [[0, 0]]
    assert len(marked(part, "O", "is-due")) == 8
    play.click()
    assert marked(part, "O", "is-due") == []


@pytest.mark.parametrize("width", [390, 1280])
def test_play_makes_all_three_views_and_lights_the_next_stage(timed, bench, width):
    part = timed(bench, "calculator")
    part.page.set_viewport_size({"width": width, "height": 800})
    to_stage(part, 2)
    play = part.locator('[data-part="play"]')
    seen = []
    if width < 420:
        part.locator("summary", has_text="More: weights").click()
    play.click()
    while play.inner_text() == "Pause" and len(seen) < 100:
        ((name, *_),) = part.locator("td.is-focus button").evaluate_all(
            "(all) => all.map((e) => [e.closest('[data-name]').dataset.name, e.textContent])"
        )
        if name not in seen:
            seen.append(name)
        part.page.clock.run_for(400)
    assert seen == ["Q", "K", "V"]
    rows, columns = len(X), len(W_V[0])
    assert marked(part, "V", "is-focus") == [[rows - 1, columns - 1]]
    # One button is filled: the next stage, and where it has no room, the arrow to it.
    lit = part.locator(".attnlab-act")
    assert lit.count() == 1
    assert lit.inner_text() == ("3 Scores" if width > 760 else "→")
    lit.click()
    assert "Stage 3 of 6" in says(part)
    assert lit.inner_text() == ("Play" if width > 760 else "→")


def test_the_pairs_of_a_product_light_up_one_after_the_other(site, bench):
    page = site.open(bench)
    page.emulate_media(reduced_motion="no-preference")
    part = figure(page, "calculator")
    seen = part.evaluate(
        """async (figure) => {
          figure.querySelector('[data-part="stages"] [data-value="6"]').click();
          const seen = [];
          for (;;) {
            const bright = figure.querySelectorAll(".attnlab-board .is-now");
            const lit = [...bright].map((e) => Number(e.dataset.term));
            const now = JSON.stringify([lit, figure.querySelectorAll(".is-later").length,
              figure.querySelector(".attnlab-total").classList.contains("is-later")]);
            if (seen.at(-1) !== now) seen.push(now);
            if (!lit.length) return seen.map((one) => JSON.parse(one));
            await new Promise((frame) => requestAnimationFrame(frame));
          }
        }"""
    )
    page.emulate_media(reduced_motion="reduce")
    # A number of the row, one of the column and their product at a time; then all stand as they are.
    lit = [all for all, _, _ in seen]
    assert lit[0] == [0, 0, 0]
    assert lit[-1] == []
    assert all(three == [three[0]] * 3 for three in lit[:-1])
    assert seen[-1][1] == 0
    # What they sum to is written last.
    assert [later for _, _, later in seen] == [*[True] * (len(seen) - 1), False]


def test_undo_takes_back_an_edit(page):
    part = figure(page, "calculator")
    cell = part.locator('[data-part="matrix-X"] input').nth(3)
    cell.fill("1.5")
    cell.press("Enter")
    part.locator('[data-part="undo"]').click()
    assert_attended(part, calculator())


@pytest.mark.parametrize("name", ["tag", "calculator"])
def test_copied_code_runs(page, name):
    shown, space = run_copied(figure(page, name))
    if name == "tag":
        assert all(tag in shown for tag in ("PRON", "VERB", "DET", "NOUN"))
    else:
        torch.testing.assert_close(space["output"], calculator().output)


def test_a_copied_link_opens_the_same_state(page):
    tag = figure(page, "tag")
    tag.locator('[data-part="sentence"]').fill("What do you do?")
    tag.locator('[data-part="token"]').nth(3).click()
    page.goto(copied(tag, "link"))
    assert_tagged(figure(page, "tag"), TagSentence("What do you do?", word=3))
    # The other figure is as the page has it.
    assert_attended(figure(page, "calculator"), calculator())


def test_a_saved_picture_holds_the_words_and_the_numbers(page):
    tag, weights = saved(figure(page, "tag")), saved(figure(page, "calculator"))
    assert all(f">{word}</text>" in tag for word in ("saw", "noun", "small word"))
    assert all(f">{w:.2f}</text>" in weights for w in calculator().weights.flatten().tolist())


KEYS_LEFT_ALONE = """(figures) => figures
  .flatMap((figure) => [...figure.querySelectorAll("button, input, summary, [tabindex]")])
  .filter((e) => e.checkVisibility() && !e.disabled)
  .map((e) => { e.focus(); return document.activeElement; })
  .filter((e) => !e.hasAttribute("data-lm-suppress-shortcuts"))
  .map((e) => e.outerHTML.slice(0, 90))"""


def test_a_notebook_takes_no_key_from_what_has_the_focus(page):
    """JupyterLab asks the element with the focus itself: else `d d` in a figure deletes the cell."""
    for name in ("tag", "calculator"):
        assert figure(page, name).locator("[tabindex]").count()
    assert page.locator("figure").evaluate_all(KEYS_LEFT_ALONE) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_any_state(site, bench, theme):
    page = site.figures(bench, theme=theme)
    assert violations(page) == []
    while (closed := page.locator("figure details:not([open], .attnlab-menu) > summary")).count():
        closed.first.click()
    figure(page, "tag").locator('[data-part="token"]').nth(1).click()
    figure(page, "tag").locator('[data-part="hide"]').nth(2).click()
    for _ in range(5):
        figure(page, "calculator").locator('[data-part="next"]').click()
        assert violations(page) == []
    figure(page, "tag").locator('[data-part="sentence"]').fill("")
    figure(page, "tag").locator('[data-part="menu"] > summary').click()
    assert violations(page) == []


def test_a_phone_shows_both_figures_whole_and_with_room_for_a_thumb(site, bench):
    page = site.figures(bench, width=320, height=700)
    assert page.evaluate(SIDEWAYS) == []
    for _ in range(5):
        figure(page, "calculator").locator('[data-part="next"]').click()
        assert page.evaluate(SIDEWAYS) == []
    assert_fits_a_thumb(page.locator("figure"))


def test_each_key_is_answered_before_the_next_frame(page):
    """No key waits for another: what is typed is tagged when the browser paints next."""
    figure(page, "tag")
    typed = ["I", "I saw", "I saw a", "I saw a saw", "I saw it", "Do you ?"]
    shown = page.evaluate(
        """async (typed) => {
          const input = document.querySelector('[data-part="sentence"]');
          const tag = document.querySelector('[data-attnlab="tag"]');
          const rows = () => [...tag.querySelectorAll('[data-part="numbers"] tbody tr')];
          const shown = [];
          for (const text of typed) {
            input.value = text;
            input.dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise((frame) => requestAnimationFrame(frame));
            shown.push(rows().map((row) => [row.children[0].textContent, row.children[1].textContent]));
          }
          return shown;
        }""",
        typed,
    )
    tagged = [TagSentence(text).tagged for text in typed]
    assert shown == [[list(pair) for pair in zip(one.tokens, one.tags, strict=True)] for one in tagged]
