"""The playground in the page: train it, count it, compare it, copy it out, and give it nonsense."""

import json
import re

import pytest

from attnbook.widgets import Playground
from attnbook.widgets.playground import DEFAULTS

from .reader import (
    assert_fits_a_thumb,
    copied,
    figure,
    middle,
    number,
    press,
    run_copied,
    saved,
    says,
    table,
    violations,
    without_table,
)

SMALL = {"d_model": 8, "n_heads": 1}


def mount(*runs, **more):
    return without_table(Playground(*runs, **more))


@pytest.fixture(scope="module")
def page_file(page_with):
    return page_with(mount(SMALL))


@pytest.fixture
def part(site, page_file):
    found = figure(site.figures(page_file), "playground")
    found.locator('[data-part="forget"]').evaluate("(button) => button.click()")
    return found


def steps(part) -> list[int]:
    return [int(cell) for cell in table(part)[0][1:]]


def reading(part, name) -> list[str]:
    (row,) = [row for row in table(part) if row[0] == name]
    return row[1:]


def train(part, least):
    """Press Train, pause after some steps, and wait until all sentences are counted."""
    part.locator('[data-part="train"]').click()
    reached(part, least)
    part.locator('[data-part="train"]').click()
    paused(part)
    counted(part)


def reached(part, least):
    counter = 'figure [data-part="steps"]'
    part.page.wait_for_function(
        r"([counter, n]) => Number(document.querySelector(counter).textContent.replace(/\D/g, '')) >= n",
        arg=[counter, least],
    )


def paused(part):
    """Wait until it stands still: after a click the step that is under way is still taken to its end."""
    part.get_by_role("button", name="Train", exact=True).wait_for()


def counted(part):
    part.page.wait_for_function(
        """() => { const row = document.querySelectorAll('figure [data-part="numbers"] tbody tr')[2];
          return row.textContent.includes("%") && document.querySelector('[data-part="progress"]').hidden }"""
    )


def choose(part, name, label, run="A"):
    select = part.locator(f'[data-part="choice"][data-run="{run}"][data-name="{name}"]')
    for fold in (
        part.locator('[data-part="settings"][aria-expanded="false"]'),
        part.get_by_text("More settings"),
    ):
        if not select.is_visible() and fold.is_visible():
            fold.click()
    select.select_option(label=label)


def opens(part, name):
    part.locator(f'[data-opens="{name}"]').click()


def opened(part) -> list[str]:
    """Name the panels that one sees."""
    return part.locator('[data-part="panel"]:visible').evaluate_all(
        "(all) => all.map((one) => one.dataset.panel)"
    )


def chosen(part, run="A") -> dict[str, str]:
    values = part.locator(f'[data-part="choice"][data-run="{run}"]').evaluate_all(
        "(all) => all.map((one) => [one.dataset.name, one.selectedOptions[0].textContent])"
    )
    return dict(values)


def test_it_starts_with_random_weights_and_trains_on_its_own(part):
    assert steps(part) == [0]
    assert "untrained" in says(part)
    assert chosen(part)["positions"] == "none"
    assert set(chosen(part)) == set(DEFAULTS)
    # Which line it will stop under is the question: nothing says it before it has trained.
    own = part.locator('[data-ceiling][stroke-width="2"]')
    assert opened(part) == []
    assert reading(part, "its ceiling") == ["–"]
    assert own.count() == 0
    train(part, 30)
    assert own.evaluate_all("all => all.map((one) => one.dataset.ceiling)") == ["bag of words"]
    assert part.locator('[data-part="train"]').inner_text() == "Train"
    exact = number(reading(part, "right, exactly")[0].split()[0])
    assert 50 < exact < 86.42
    about, error = map(float, reading(part, "right on a sample")[0].rstrip(" %").split(" ± "))
    assert 0 < error < 3
    assert abs(about - exact) < 3 * error  # both are of the step at which it was paused
    assert f"exactly {exact:.2f} % right; ceiling 86.4 % (bag of words)" in says(part)
    assert [row[0] for row in table(part, "confusion")][-2:] == ["that, DET", "that, PRON"]
    shares = part.locator('[data-part="looks"] rect[fill-opacity]').evaluate_all(
        "(all) => all.map((one) => Number(one.getAttribute('fill-opacity')))"
    )
    assert sum(shares) == pytest.approx(4, abs=0.01)  # four words look, each gives 1 away


def test_what_is_said_is_true_of_the_step_beside_it(part):
    part.locator('[data-part="status"]').evaluate(
        """(status) => { window.heard = [];
          const hear = () => heard.push(status.textContent);
          new MutationObserver(hear).observe(status, { childList: true, subtree: true }) }"""
    )
    part.locator('[data-part="step"]').click()
    counted(part)
    exact = number(reading(part, "right, exactly")[0].split()[0])
    heard = " ".join(part.page.evaluate("heard"))
    said = re.findall(r"Run A, step (\d+): about ([\d.]+) %", heard)
    assert {step for step, _ in said} == {"1"}
    # The random weights are right at a fifth of the words, and a step changes that by far more.
    assert all(abs(float(about) - exact) < 5 for _, about in said)


def test_numbers_of_a_run_that_goes_on_are_only_heard(site, page_with):
    # The largest run and batch: it is heard long before its last step, on any machine.
    page_file = page_with(mount({"d_model": 64, "n_layers": 2, "batch": 128}))
    part = figure(site.figures(page_file), "playground")
    part.locator('[data-part="train"]').click()
    part.locator('[data-part="heard"]', has_text=re.compile("Run A, step")).wait_for(state="attached")
    assert says(part) == "Training. When you pause, all 61,242 sentences are counted."
    part.locator('[data-part="train"]').click()
    counted(part)
    assert "exactly" in says(part)
    assert part.locator('[data-part="heard"]').text_content() == ""


def test_what_is_copied_gives_the_same_accuracy_in_torch(part):
    train(part, 20)
    exact = reading(part, "right, exactly")[0]
    shown, space = run_copied(part)
    assert shown == f"run A, step {steps(part)[0]}: {exact} of all words right"
    assert space["tagger"].context == "attention"


def test_two_runs_of_one_seed_go_together_and_are_the_same_until_a_choice_parts_them(part):
    part.locator('[data-part="beside"]').click()
    assert chosen(part, "B") == chosen(part)
    part.locator('[data-part="step"]').click()
    counted(part)
    assert steps(part) == [1, 1]
    assert len(set(reading(part, "loss"))) == 1
    choose(part, "context", "own word", "B")
    assert steps(part) == [1, 0]
    train(part, 5)
    assert len(set(steps(part))) == 1
    assert len(set(reading(part, "loss"))) == 2
    assert reading(part, "its ceiling") == ["86.42 %", "74.54 %"]
    drawn = [part.locator(f'[data-part="{name}"] [data-curve]').count() for name in ("curves", "gradient")]
    # Below, two of the loss: the run that does not attend has no gradient at its queries.
    assert drawn == [2, 3]
    said = part.locator('[data-part="looks"] svg').evaluate_all(
        """(all) => all.map((svg) =>
          [...svg.querySelectorAll("text")].map((text) => text.textContent).slice(-4))"""
    )
    # What stands at the end of a word's row is what the table says of it, in words.
    tagged = [row[1:] for row in table(part, "tags")[1:]]
    assert said == [[spelled(tag) for tag in tags] for tags in tagged]
    assert tagged[1][1] == tagged[1][3].translate({ord("✓"): "✗", ord("✗"): "✓"})
    drawing = saved(part)
    assert "bag of words 86.4" in drawing
    assert "word 74.5" in drawing


def test_a_second_run_catches_up_beside_the_first_which_stays(part):
    train(part, 200)
    (went,) = steps(part)
    curve = part.locator('[data-part="curves"] [data-curve="A"]')
    drawn = curve.get_attribute("d").count("L")
    part.locator('[data-part="beside"]').click()
    # Its steps are long: it is on its way for a while.
    for name, label in (("d_model", "64"), ("batch", "128")):
        choose(part, name, label, "B")
    choose(part, "positions", "RoPE", "B")
    assert steps(part) == [went, 0]
    assert "it catches up with the other" in says(part)
    part.locator('[data-part="train"]').click()
    reached(part, 1)
    # Whoever pauses need not wait until it has caught up.
    part.locator('[data-part="train"]').click()
    paused(part)
    stood, behind = steps(part)
    assert stood == went
    assert 1 <= behind < went
    assert curve.get_attribute("d").count("L") == drawn
    # A choice of one leaves the other as it is, and a curve by its name.
    last = float(reading(part, "right, exactly")[0].split()[0])
    choose(part, "context", "average")
    assert steps(part) == [0, behind]
    was = part.locator('[data-part="was"]').text_content()
    # Both are rounded, and one of them twice.
    assert float(re.fullmatch(r"A before, ([\d.]+) %", was)[1]) == pytest.approx(last, abs=0.06)


CALLED = {
    "ADJ": "adjective",
    "AUX": "auxiliary",
    "DET": "determiner",
    "NOUN": "noun",
    "PRON": "pronoun",
    "VERB": "verb",
}


def spelled(tag) -> str:
    name, mark = tag.split()
    return f"{CALLED[name]} ✗" if mark == "✗" else CALLED[name]


HUES = """(pill) => {
  const [rect, text] = pill.children, { fill, stroke } = getComputedStyle(rect);
  return [fill, stroke, getComputedStyle(text).fill];
}"""
PILL = """(pill) => {
  const { backgroundColor, color } = getComputedStyle(pill);
  return [backgroundColor, color];
}"""
ADJUSTED = """(button) => {
  const { color, backgroundColor, forcedColorAdjust } = getComputedStyle(button);
  return [color === backgroundColor, forcedColorAdjust];
}"""


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_tags_are_called_and_coloured_as_in_the_first_figure(site, width):
    page = site.open("chapters/five_minutes", width=width)
    part = figure(page, "playground")
    pills = part.locator('[data-part="looks"] [data-kind]')
    assert pills.count() == 8
    # One name for small words, from the start: none of them is wrong among them.
    small = "small word" if width > 500 else "small"
    assert {said.removesuffix(" ✗") for said in pills.all_text_contents()} <= {small, "verb", "noun"}
    assert pills.nth(2).text_content() == small
    part.locator('[data-part="train"]').click()
    reached(part, 60)
    part.locator('[data-part="train"]').click()
    paused(part)
    words = pills.all_text_contents()
    assert words[4:] == [small, "verb", small, "noun"]
    # To A, which knows no places, both *saw* are one: it is wrong about one of them.
    assert words[0] == words[2] == small
    right, wrong = (1, 3) if words[3].endswith("✗") else (3, 1)
    assert words[wrong] == f"{words[right]} ✗"
    assert f"saw {words[wrong]}" in part.locator('[data-part="looks"] svg').first.get_attribute("aria-label")
    # Who is right is filled, as in the first figure of the page; who is wrong is outlined in the same hue.
    filled, outlined = (pills.nth(at).evaluate(HUES) for at in (right, wrong))
    assert filled[0] == filled[1] == outlined[1] == outlined[2]
    assert filled[2] == outlined[0]
    tag = figure(page, "tag")
    tag.locator(".is-asked").click()
    for at, word in ((5, 3), (7, 1)):
        fill, _, ink = pills.nth(at).evaluate(HUES)
        assert tag.locator("[data-kind]").nth(word).evaluate(PILL) == [fill, ink]
    # None is cut off, and each is as wide as what is in it.
    for svg in part.locator('[data-part="looks"] svg').all():
        end = svg.evaluate("(one) => one.getBoundingClientRect().right")
        for pill in svg.locator("[data-kind]").all():
            box, words = (pill.locator(one).bounding_box() for one in ("rect", "text"))
            assert box["x"] + 2 < words["x"]
            assert words["x"] + words["width"] + 2 < box["x"] + box["width"] < end
    square = part.locator('[data-part="looks"] rect[fill-opacity]').first.bounding_box()
    if width > 1000:
        assert square["width"] > 50
        assert square["height"] > 28
    else:
        assert_fits_a_thumb(part)


def test_in_the_colours_of_a_system_the_one_button_can_be_read(part):
    part.page.emulate_media(forced_colors="active")
    assert part.locator('[data-part="train"]').evaluate(ADJUSTED) == [False, "none"]
    part.page.emulate_media(forced_colors="none")


def ghosts(part) -> list[str]:
    return part.locator('[data-part="curves"] [data-part="ghost"]').evaluate_all(
        "all => all.map((one) => one.getAttribute('d'))"
    )


def test_a_run_that_is_given_up_leaves_its_curve(part):
    train(part, 10)
    curve = part.locator('[data-part="curves"] [data-curve="A"]').get_attribute("d")
    choose(part, "positions", "RoPE")
    assert steps(part) == [0]
    assert ghosts(part) == [curve]
    assert "the curves from before stay, in grey" in says(part)
    said = part.locator('[data-part="curves"]').get_attribute("aria-label")
    assert re.search(r"In grey, from before: [\d.]+ % right at step [\d,]+\.$", said)
    # What has not trained leaves nothing, and takes nothing away.
    choose(part, "positions", "none")
    assert ghosts(part) == [curve]
    part.locator('[data-part="reset"]').click()
    assert curve not in ghosts(part)
    assert "from before" not in part.locator('[data-part="curves"]').get_attribute("aria-label")


def test_at_first_the_curve_of_the_word_alone_is_there_in_grey_and_no_other(part):
    name = part.locator('[data-part="curves"] text', has_text="word alone, trained before")
    said = part.locator('[data-part="curves"]')
    assert len(ghosts(part)) == name.count() == 1
    assert said.get_attribute("aria-label") == (
        "Curves of training. Run A: untrained. In grey: word alone, trained before, 72.7 % right at step 348."
    )
    (stood,) = ghosts(part)
    train(part, 3)
    assert ghosts(part) == [stood]  # on axes that stay
    choose(part, "context", "average")
    assert len(ghosts(part)) == 1  # one's own has taken its place
    assert name.count() == 0
    assert "from before" in said.get_attribute("aria-label")
    part.locator('[data-part="reset"]').click()
    assert ghosts(part) == [stood]
    # Who trains such a one gets no answer from it.
    choose(part, "context", "own word")
    assert ghosts(part) == []


def test_on_a_phone_the_name_of_the_first_curve_covers_no_other(site, page_file):
    part = figure(site.open(page_file, width=320), "playground")
    names = part.locator('[data-part="curves"] text').filter(has_text=re.compile("trained before|^word "))
    assert sorted(names.all_text_contents()) == ["trained before", "word 74.5 %"]
    one, other = (name.bounding_box() for name in names.all())
    left, right = sorted([one, other], key=lambda box: box["x"])
    assert left["x"] + left["width"] <= right["x"]


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_on_arrival_train_is_in_sight(site, width, height):
    page = site.open("chapters/playground", width=width, height=height)
    part = figure(page, "playground")
    assert chosen(part)["positions"] == "RoPE"
    button = part.locator('[data-part="train"]').bounding_box()
    assert 0 < button["y"] < button["y"] + button["height"] < height
    # One line says what is set, and opens it: on a wide screen what is drawn is in sight, too.
    settings = part.locator('[data-part="settings"]')
    assert settings.inner_text().split("\n")[-1] == "attention, RoPE"
    assert part.locator('[data-part="choice"]:visible').count() == 0
    if width > 1000:
        for drawn in ("curves", "looks"):
            box = part.locator(f'[data-part="{drawn}"]').bounding_box()
            assert box["y"] + box["height"] < height
        settings.click()
        assert part.locator('[data-part="choice"]:visible').count() == 5


def test_the_tries_open_the_figure_without_loading_the_page_again(site):
    page = site.open("chapters/playground")
    part = figure(page, "playground")
    page.evaluate("window.stays = true")
    train(part, 3)
    page.get_by_role("link", name="Take the context away").click()
    assert chosen(part)["context"] == "own word"
    assert steps(part) == [0]
    assert len(ghosts(part)) == 1
    page.get_by_role("link", name="Give run B positions").click()
    assert chosen(part)["context"] == "attention"
    assert chosen(part, "B")["positions"] == "RoPE"
    page.go_back()
    assert chosen(part)["context"] == "own word"
    assert page.evaluate("window.stays")
    assert "playground=" in page.url


def test_choices_that_act_inside_attention_wait_for_it(part):
    choose(part, "positions", "RoPE")
    choose(part, "context", "average")
    assert chosen(part)["positions"] == "none"
    assert part.locator('[data-part="choice"][data-name="divide"]').is_disabled()
    assert part.locator('option:text-is("RoPE")').is_disabled()


def diverges(part):
    """Press Train, and wait until run A has stopped: few sentences a step, and it takes a dozen."""
    part.locator('[data-part="train"]').click()
    part.get_by_text("Run A diverged at step").wait_for()


def test_a_rate_can_change_on_the_way_and_a_large_one_stops_it(part):
    choose(part, "batch", "8")
    part.locator('[data-part="step"]').click()
    counted(part)
    choose(part, "rate", "1")
    assert steps(part) == [1]
    diverges(part)
    counted(part)  # what is found then is said last
    (stopped,) = steps(part)
    assert f"step {stopped}: its loss is" in says(part)
    assert "A learning rate of 1 is too large for it" in says(part)
    # It stands still, and does not go on: that it diverged is said again.
    assert part.locator('[data-part="train"]').inner_text() == "Train"
    part.locator('[data-part="step"]').click()
    assert "Go back to step 0, with a smaller one" in says(part)
    assert steps(part) == [stopped]
    choose(part, "rate", "0.01")
    part.locator('[data-part="restart"]').click()
    part.locator('[data-part="step"]').click()
    counted(part)
    assert steps(part) == [1]
    assert "diverged" not in says(part)


def test_a_run_that_diverged_says_so_and_holds_the_other_up_in_nothing(part):
    part.locator('[data-part="beside"]').click()
    # A is done at once; B has long steps, and is far from the end of the axis when it is paused.
    for name, label, run in (
        ("d_model", "32", "B"),
        ("batch", "128", "B"),
        ("batch", "8", "A"),
        ("rate", "1", "A"),
    ):
        choose(part, name, label, run)
    diverges(part)
    reached(part, 30)
    part.locator('[data-part="train"]').click()
    paused(part)
    stopped, went_on = steps(part)
    assert stopped < 30 <= went_on
    part.locator('[data-part="step"]').click()
    paused(part)
    assert steps(part) == [stopped, went_on + 1]
    assert part.locator('[data-part="steps"]').inner_text() == f"step {went_on + 1:,}"


def test_a_sentence_of_other_words_is_named(part):
    sentence, unknown = (part.locator(f'[data-part="{name}"]') for name in ("sentence", "unknown"))
    sentence.fill("I saw a zebra")
    assert unknown.is_visible()
    assert "no word “zebra”" in unknown.inner_text()
    sentence.fill("that can can")
    assert unknown.is_hidden()
    assert table(part, "tags")[0] == ["best possible", "PRON", "AUX", "VERB"]
    sentence.fill("They left.")
    assert table(part, "tags")[0] == ["best possible", "PRON", "VERB"]
    sentence.fill("a a")
    assert "never says this sentence" in part.locator('[data-part="tags"]').inner_text()


def test_where_training_is_all_there_is_nothing_else_is_offered(site, page_with):
    page = site.open(page_with(mount(SMALL, b=SMALL | {"positions": "rotary"}, only=True)))
    part = figure(page, "playground")
    assert part.locator(".attnlab-body :is(button, input, select):visible").all_inner_texts() == ["Train"]
    ceilings = part.locator("[data-ceiling]").evaluate_all("all => all.map((one) => one.dataset.ceiling)")
    assert ceilings == ["bag of words", "whole sentence"]
    assert part.locator('[data-part="choice"], [data-part="panel"]').count() == 0
    said = part.locator('[data-part="told"] > span').all_inner_texts()
    assert said == ["A attention, no positions", "B attention, RoPE"]
    part.locator('[data-part="train"]').click()
    reached(part, 3)
    part.locator('[data-part="train"]').click()
    paused(part)
    part.get_by_text(re.compile(r"exactly.*exactly")).wait_for()
    assert violations(page) == []
    part.locator('[data-part="reset"]').click()
    assert part.locator('[data-part="steps"]').inner_text() == "step 0"


def test_before_it_trains_the_word_alone_is_there_in_grey_and_no_curve_that_the_page_asks_for(site):
    for width in (1280, 390):
        part = figure(site.open("chapters/five_minutes", width=width), "playground")
        (stood,) = ghosts(part)
        assert says(part).endswith("In grey: the word alone, trained before.")
        if width > 1000:  # no rule of another figure on the page lays them out
            drawn, seen = (
                part.locator(f'[data-part="{name}"]').bounding_box() for name in ("curves", "looks")
            )
            assert drawn["x"] + drawn["width"] < seen["x"]
            assert drawn["y"] < seen["y"] < drawn["y"] + drawn["height"]
        assert part.locator('[data-part="curves"] text', has_text="word alone, trained before").count() == 1
        part.locator('[data-part="train"]').click()
        reached(part, 2)
        part.locator('[data-part="train"]').click()
        paused(part)
        assert ghosts(part) == [stood]
        assert "In grey" not in says(part)
        part.locator('[data-part="reset"]').click()
        assert ghosts(part) == [stood]


PARTS = """(figure) => {
  const { left, top } = figure.getBoundingClientRect();
  return [...figure.querySelectorAll("[data-part]")].map((part) => {
    const { x, y, width, height } = part.getBoundingClientRect();
    return [part.dataset.part, width ? [x - left, y - top, width, height] : []];
  });
}"""


def test_it_stands_alike_whether_a_reader_came_past_all_figures_of_its_page_or_none(site):
    """A page loads a figure's rules when one comes near: they must lay out no other."""
    context = site.new_context("reduce")  # figures stand here when a reader is near, as for readers
    page = context.new_page()
    page.set_viewport_size({"width": 1280, "height": 900})
    try:
        page.goto(f"{site.address}/chapters/five_minutes.html")
        part, mounted = page.locator("#figure-playground"), page.locator("article figure[data-mounted]")
        part.scroll_into_view_if_needed()
        part.locator('[data-part="ghost"]').wait_for(state="attached")
        part.locator('[data-part="progress"]').wait_for(state="hidden")
        assert page.locator("figure[data-attnlab=calculator][data-mounted]").count() == 0
        alone = part.evaluate(PARTS)
        for other in page.locator("article figure[data-attnlab]").all():
            other.scroll_into_view_if_needed()
            other.locator('[data-part="reset"]').wait_for()
        assert mounted.count() == 5
        after = part.evaluate(PARTS)
        assert {"train", "curves", "ghost", "looks"} <= {name for name, box in alone if box}
        for (name, box), (same, there) in zip(alone, after, strict=True):
            assert name == same
            assert there == pytest.approx(box, abs=1), name
    finally:
        context.close()


def test_keys_are_enough(part):
    press(part, "step", "Enter")
    counted(part)
    assert steps(part) == [1]
    # An earlier test may have left them open.
    part.locator('[data-part="settings"]').evaluate("(line) => line.ariaExpanded === 'true' || line.click()")
    press(part, "seed", "Space")
    assert steps(part) == [0]
    select = part.locator('[data-part="choice"][data-name="d_model"]')
    select.focus()
    part.page.keyboard.press("ArrowDown")
    assert chosen(part)["d_model"] == "16"
    assert select.evaluate("(one) => one === document.activeElement")
    press(part, "beside", "Enter")
    assert chosen(part, "B")["d_model"] == "16"
    # Where the button went, the one that undoes it stands, and has the focus.
    part.page.keyboard.press("Enter")
    assert chosen(part, "B") == {}
    part.locator('[data-opens="gradient"]').focus()
    part.page.keyboard.press("Space")
    assert opened(part) == ["gradient"]
    part.locator('[data-opens="numbers"]').focus()
    part.page.keyboard.press("Enter")
    assert opened(part) == ["numbers"]
    part.page.keyboard.press("Enter")
    assert opened(part) == []


def test_what_was_found_is_ticked_off_and_kept(site, page_file, part):
    opens(part, "challenges")
    choose(part, "context", "own word")
    choose(part, "rate", "0.003")
    train(part, 150)
    met = '[data-part="challenge"].is-met'
    assert part.locator(met).evaluate_all("(all) => all.map((one) => one.dataset.id)") == ["word"]
    assert "Found: Come within two points of 74.5 %" in says(part)
    again = figure(site.open(page_file), "playground")
    assert again.locator(met).count() == 1
    opens(again, "challenges")
    again.locator('[data-part="forget"]').click()
    assert again.locator(met).count() == 0


def test_a_link_opens_the_same_choices_and_a_broken_one_says_why(site, page_file, part):
    usual = chosen(part)
    choose(part, "positions", "sinusoids")
    part.locator('[data-part="beside"]').click()
    choose(part, "residual", "off", "B")
    opens(part, "gradient")
    part.page.goto(copied(part, "link"))
    linked = figure(part.page, "playground")
    assert opened(linked) == ["gradient"]
    # What is not as usual is said where settings are closed.
    assert not linked.locator('[data-part="choice"][data-run="B"][data-name="residual"]').is_visible()
    assert linked.locator('[data-part="told"]').inner_text().endswith("residual off")
    assert chosen(linked)["positions"] == "sinusoids"
    assert chosen(linked, "B")["residual"] == "off"
    for state, why in (
        ({"a": {"d_model": 7}}, "d_model of run A must be 8, 16, 32, 64; it is 7."),
        ({"a": {"context": "mean", "positions": "rotary"}}, "which act inside attention"),
        ({"a": 3}, "a should be an object, and is a number."),
        ({"b": {"width": 8}}, "run B has no choice called width"),
        ({"seed": -1}, "seed must be a whole number"),
        (
            {"panel": "secrets"},
            'panel must be challenges, words, gradient, numbers, or nothing; it is "secrets"',
        ),
    ):
        assert why in site.complaint(page_file, "playground", state), json.dumps(state)
        # What it asks for is left: the figure stands as the page has it.
        opened_anyway = figure(part.page, "playground")
        assert chosen(opened_anyway) == usual
        assert chosen(opened_anyway, "B") == {}


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_a_link_of_a_run_says_where_it_was_and_train_leads_there(part, width):
    part.page.set_viewport_size({"width": width, "height": 844})
    assert part.locator('[data-part="target"]').evaluate("(e) => getComputedStyle(e).display") == "none"
    train(part, 12)
    (there,) = steps(part)
    (right,) = reading(part, "right, exactly")
    again = "Copied: your settings; it trains afresh when opened."
    part.page.goto(copied(part, "link", again))
    linked = figure(part.page, "playground")
    told = f"sent at {there:,}: {float(right.split()[0]):.1f} % right"
    target = linked.locator('[data-part="target"]')
    assert target.inner_text() == told
    below, top = (linked.locator(f'[data-part="{one}"]') for one in ("told", "train"))
    far = middle(below)[1] - middle(top)[1]
    linked.locator('[data-part="train"]').click()
    reached(linked, there)
    paused(linked)
    counted(linked)
    assert steps(linked) == [there]
    assert reading(linked, "right, exactly") == [right]
    assert target.is_hidden()
    assert middle(below)[1] - middle(top)[1] == far
    # Other settings don't lead there.
    linked.locator('[data-part="restart"]').evaluate("(button) => button.click()")
    assert target.is_visible()
    choose(linked, "positions", "sinusoids")
    assert target.is_hidden()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (320, 640)])
def test_a_try_opens_on_the_figure_and_not_on_another_question(site, width, height):
    page = site.open("chapters/playground", width=width, height=height)
    page.get_by_role("link", name="Take the context away").click()
    page.wait_for_url("**/playground.html?playground=*")
    part = figure(page, "playground")
    assert chosen(part)["context"] == "own word"
    # What moves is seen from its top on.
    page.wait_for_function(
        """() => { const { top } = document.querySelector("figure.attnlab-figure").getBoundingClientRect();
          return top >= 0 && top < innerHeight / 4 }"""
    )


IN_SIGHT = "(e) => { const { top } = e.getBoundingClientRect(); return top >= 0 && top < innerHeight / 2; }"


@pytest.mark.parametrize("width", [1280, 320])
def test_a_try_leads_up_to_the_figure_and_the_figure_back_to_it_by_keys(site, width):
    page = site.open("chapters/playground", width=width, height=640)
    part = figure(page, "playground")
    back = page.locator(".attnlab-back a")
    assert back.count() == 0
    page.get_by_role("link", name="Give run B positions").focus()
    page.keyboard.press("Enter")
    assert chosen(part, "B")["positions"] == "RoPE"
    # The figure has the focus, so the next Tab goes to its first button.
    page.keyboard.press("Tab")
    assert part.locator('[data-part="train"]').evaluate("(one) => one === document.activeElement")
    train(part, 3)
    assert back.inner_text() == "Back to “3. Places”"
    assert reach(part, ".attnlab-root") <= back.evaluate(BOX)[0] - part.evaluate(BOX)[0]
    back.scroll_into_view_if_needed()
    assert back.evaluate("(a, [x, y]) => document.elementFromPoint(x, y) === a", middle(back))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
    before = steps(part)
    back.focus()
    page.keyboard.press("Enter")
    asked = page.locator("p", has_text="3. Places.")
    page.wait_for_function(IN_SIGHT, arg=asked.element_handle())
    # What was trained stays, there and after the next link to another place of the page.
    page.locator('a[href="#exercises"]').first.evaluate("(a) => a.click()")
    page.wait_for_function(IN_SIGHT, arg=page.locator("#exercises").element_handle())
    assert steps(part) == before
    page.get_by_role("link", name="Take the context away").click()
    assert page.locator(".attnlab-back").all_inner_texts() == ["Back to “1. Only the word itself”"]
    page.emulate_media(media="print")
    assert not back.is_visible()
    page.emulate_media(media="screen")


def test_nothing_of_the_page_lies_on_the_figure(site):
    page = site.open("chapters/playground", height=700)
    page.get_by_role("link", name="Raise the rate").click()
    page.mouse.wheel(0, 900)
    page.mouse.wheel(0, -100)
    assert page.locator("#pst-back-to-top").is_hidden()


def test_the_examples_have_one_that_a_trained_tagger_gets_wrong(part):
    offered = part.locator('[data-part="examples"] option').all_inner_texts()[1:]
    assert "that can saw a saw" in offered
    part.locator('[data-part="examples"]').select_option(label="that can saw a saw")
    assert table(part, "tags")[0] == ["best possible", "PRON", "AUX", "VERB", "DET", "NOUN"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, page_file, theme):
    page = site.figures(page_file, theme=theme)
    part = figure(page, "playground")
    part.locator('[data-part="beside"]').click()
    part.locator('[data-part="step"]').click()
    counted(part)
    for name in ("challenges", "words", "gradient", "numbers"):
        opens(part, name)
        assert violations(page) == []


BOX = "(e) => { const r = e.getBoundingClientRect(); return [r.top + scrollY, r.bottom + scrollY]; }"


def reach(part, inside="") -> float:
    """How far below the top of the figure a part of it ends."""
    top, _ = part.evaluate(BOX)
    return part.locator(inside).evaluate(BOX)[1] - top if inside else part.evaluate(BOX)[1] - top


@pytest.mark.parametrize(("width", "moving", "most"), [(1280, 540, 640), (390, 540, 760), (320, 540, 760)])
def test_all_that_moves_is_seen_at_once(site, page_with, width, moving, most):
    # Two runs of the usual size, as the page has them: what moves is in one screen, on a phone too.
    page = site.open(page_with(mount(b={"positions": "rotary"})), width=width, height=800)
    part = figure(page, "playground")
    part.locator('[data-part="train"]').click()
    reached(part, 3)
    assert reach(part, '[data-part="curves"]') < reach(part, '[data-part="looks"]') < moving
    assert reach(part, ".attnlab-root") < most
    part.locator('[data-part="reset"]').click()


def test_a_phone_draws_one_head_and_says_what_is_set(site, page_file):
    part = figure(site.figures(page_file, width=320, height=640), "playground")
    settings = part.locator('[data-part="settings"]')
    assert not part.locator('[data-part="choice"]').first.is_visible()
    assert settings.inner_text().split("\n")[-1] == "attention, no positions, 1 head, width 8"
    choose(part, "n_heads", "4")
    part.locator('[data-part="beside"]').click()
    choose(part, "positions", "RoPE", "B")
    settings.click()
    assert not part.locator('[data-part="choice"]').first.is_visible()
    said = re.sub(r"\s+", " ", settings.inner_text())
    assert said == "Settings A attention, no positions, 4 heads, width 8 B attention, RoPE, 4 heads, width 8"
    squares = part.locator('[data-part="looks"] rect[fill-opacity]')
    weights = [
        [float(row[1]) for row in table(part, "weights") if row[0].startswith(f"A 1.{k}")]
        for k in range(1, 5)
    ]
    assert squares.count() == 2 * 4 * 4
    for which, name in ((0, "head 1"), (2, "head 3")):
        part.locator(f'[data-part="head"] [data-value="{which}"]').click()
        assert part.locator('[data-part="looks"]').get_by_text(name, exact=True).count() == 2
        first = squares.evaluate_all(
            "(all) => all.slice(0, 16).map((one) => one.getAttribute('fill-opacity'))"
        )
        assert [float(share) for share in first[::4]] == pytest.approx(weights[which], abs=0.006)


def test_a_phone_does_not_scroll_sideways(site, page_file):
    part = figure(site.figures(page_file, width=320, height=640), "playground")
    part.locator('[data-part="beside"]').click()
    choose(part, "n_heads", "4", "B")
    part.locator('[data-part="sentence"]').fill("you can watch that old saw")
    for name in ("challenges", "words", "gradient", "numbers"):
        opens(part, name)
        assert_fits_a_thumb(part)


def test_fingers_train_and_choose(browser, address, page_file):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{address}/{page_file}.html")
    part = figure(page, "playground")
    page.touchscreen.tap(*middle(part.locator('[data-part="beside"]')))
    assert len(chosen(part, "B")) == len(DEFAULTS)
    page.touchscreen.tap(*middle(part.locator('[data-part="train"]')))
    # Here nobody asked for less motion: the first steps wait for a frame each, and still go on.
    reached(part, 3)
    page.touchscreen.tap(*middle(part.locator('[data-part="train"]')))
    paused(part)
    counted(part)
    assert len(set(steps(part))) == 1
    page.touchscreen.tap(*middle(part.locator('[data-opens="numbers"]')))
    assert opened(part) == ["numbers"]
    context.close()


def test_paper_has_the_curves_and_every_table(site, part):
    part.locator('[data-part="step"]').click()
    counted(part)
    part.page.emulate_media(media="print")
    assert opened(part) == ["challenges", "words", "gradient", "numbers"]
    assert part.locator('[data-part="curves"]').is_visible()
    assert not part.locator('[data-part="train"]').is_visible()
    assert len(table(part, "confusion")) == 7
    part.page.emulate_media(media="screen")


def test_it_trains_from_a_file_with_no_server(site, book, page_file):
    part = figure(site.open(page_file, address=book.as_uri()), "playground")
    train(part, 10)
    assert number(reading(part, "right, exactly")[0].split()[0]) > 20


NAMED = """(svg) => [...svg.querySelectorAll('[data-part="ceiling"], [data-letter]')].map((text) => {
  const { x, width } = text.getBBox();
  const [y, size] = [Number(text.getAttribute("y")), Number(text.getAttribute("font-size"))];
  return [text.textContent, x, x + width, y - 0.76 * size, y + (text.dataset.letter ? 0 : 0.22) * size];
})"""


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize(
    ("a", "b", "own"),
    [
        ({}, {"positions": "rotary"}, ["bag of words 86.4 %", "whole sentence 99.6 %"]),
        (
            {"context": "alone", "positions": "sinusoidal"},
            {"context": "causal attention"},
            ["word and position 82.3 %", "everything before 95.2 %"],
        ),
    ],
)
def test_names_of_ceilings_and_runs_cover_no_other(site, page_with, width, a, b, own):
    # Where names go is tried over thousands of curves in tests/widgets; here fonts are real.
    page = site.open(page_with(mount(SMALL | a, b=SMALL | b)), width=width, height=800)
    part = figure(page, "playground")
    train(part, 12)
    svg = part.locator('[data-part="curves"]')
    bold = svg.locator('[data-part="ceiling"][font-weight="700"]').all_text_contents()
    assert sorted(bold) == sorted(own)
    names = svg.evaluate(NAMED)
    assert sorted(words for words, *_ in names if len(words) == 1) == ["A", "B"]
    assert len(names) == 2 + 5 + ("word and position 82.3 %" in own)
    _, _, wide, high = map(float, svg.get_attribute("viewBox").split())
    for i, (words, left, right, top, bottom) in enumerate(names):
        assert 0 <= left < right <= wide, words
        assert 0 <= top < bottom <= high, words
        met = [
            other
            for other, x0, x1, y0, y1 in names[i + 1 :]
            if left < x1 and x0 < right and top < y1 and y0 < bottom
        ]
        assert met == [], words
