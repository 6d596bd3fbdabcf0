"""A configuration read in the page: pasted, dropped, picked and refused, against what Python reads."""

import json
import math

import pytest

from attnbook import census, configuration, reading
from attnbook.widgets import Configuration
from attnbook.widgets.configuration import LONGEST, OFFERED, text_of

from .reader import assert_fits_a_thumb, copied, figure, parsed, run_copied, saved, says, table, violations

NAMES = {"made for": "Longest text"}
LABELS = {name: census.checkpoint(name)["checkpoint"] for name in OFFERED}
DROP = """([text, file]) => {
  const data = new DataTransfer();
  if (file) data.items.add(new File([text], "config.json", { type: "application/json" }));
  else data.setData("text/plain", text);
  const area = document.querySelector('[data-part="text"]');
  for (const type of ["dragover", "drop"]) {
    area.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
  }
}"""
SUMMARY = """(list) => {
  const out = {};
  for (const dt of list.querySelectorAll("dt")) {
    out[dt.textContent] = [...dt.nextElementSibling.querySelectorAll("div")].map((line) => line.textContent);
  }
  return out;
}"""


@pytest.fixture(scope="module")
def bench(page_with):
    return page_with(Configuration("gpt_oss")._repr_html_())


@pytest.fixture
def part(site, bench):
    return figure(site.figures(bench), "configuration")


def paste(part, text):
    part.locator('[data-part="text"]').fill(text)


def summary(part):
    return part.locator('[data-part="summary"]').evaluate(SUMMARY)


def refused(part):
    message = part.locator('[data-part="refused"]')
    return message.inner_text() if message.is_visible() else ""


def test_each_example_says_in_the_page_what_python_says(part):
    pick = part.locator('[data-part="example"]')
    assert pick.locator("option").all_inner_texts() == ["your own", *LABELS.values()]
    for name in OFFERED:
        pick.select_option(label=LABELS[name])
        config = census.published(name)
        shown = summary(part)
        for what, lines in reading.summary(configuration.read(config)):
            # What the example before it keeps stands behind its own.
            told = [line.partition("; before")[0] for line in shown[NAMES.get(what, what.capitalize())]]
            assert told == lines, name
        tops = [row[0] for row in table(part, "fields") if "." not in row[0]]
        assert tops == list(config)
        assert says(part).startswith(f"{len(table(part, 'fields'))} fields: ")


def test_a_pasted_text_is_told_field_by_field(part):
    config = {
        "n_head": 4,
        "wings": 2,
        "rope_scaling": {"type": "yarn", "factor": 2.5},
        "layer_types": ["a"] * 9,
    }
    paste(part, text_of(config))
    rows = {row[0]: row[1:] for row in table(part, "fields")}
    assert list(rows) == [
        "n_head",
        "wings",
        "rope_scaling",
        "rope_scaling.type",
        "rope_scaling.factor",
        "layer_types",
    ]
    assert rows["n_head"] == [
        "4",
        "heads of queries in a layer",
        "07 Multi-head attention: Several heads, side by side",
    ]
    assert rows["wings"] == ["2", "", "not in this book"]
    assert rows["rope_scaling.factor"][0] == "2.5"
    assert rows["layer_types"][0] == '["a"] × 9'
    assert part.locator('[data-part="example"]').input_value() == ""
    assert says(part) == "6 fields: 5 in this book, 1 not."
    assert summary(part)["Cache"] == ["unknown: layers of the kind “a” are not read here"]
    paste(part, '{"text_config": {"num_hidden_layers": 2, "n_head": 1, "head_dim": 8}}')
    assert summary(part)["Read in"] == ["text_config"]
    assert summary(part)["Cache"] == ["2 layers × 2 × 1 × 8 × 2 bytes = 64 bytes a token"]


def test_five_fields_stand_open_and_one_button_and_paper_show_all(part):
    rows = part.locator('[data-part="fields"] tbody tr')
    total, more = rows.count(), part.locator('[data-part="all"]')
    assert more.inner_text() == f"Show all {total}"
    assert rows.filter(visible=True).count() == 5
    part.page.emulate_media(media="print")
    assert rows.filter(visible=True).count() == total
    part.page.emulate_media(media="screen")
    part.locator('[data-part="find"]').fill("token")
    assert more.is_hidden()
    assert 0 < rows.filter(visible=True).count() < total
    part.locator('[data-part="find"]').fill("")
    more.click()
    assert rows.filter(visible=True).count() == total
    assert more.get_attribute("aria-expanded") == "true"
    more.click()
    assert rows.filter(visible=True).count() == 5
    paste(part, '{"n_head": 4}')
    assert more.is_hidden()


def test_what_an_example_has_of_its_class_is_said_beside_it_alone(part):
    beside = part.locator('[data-part="defaults"]')
    part.locator('[data-part="example"]').select_option(label="Kimi Linear 48B-A3B")
    assert "other fields are its class's defaults" in beside.inner_text()
    assert summary(part)["Cache"] == [
        "7 layers × (512 + 64) × 2 bytes = 8,064 bytes a token",
        "20 layers × 573,440 × 2 bytes = 22,937,600 bytes of states, whatever the length",
    ]
    assert "# states are not counted" not in copied(part)
    paste(part, text_of(census.published("kimi_linear") | {"linear_num_heads": "32"}))
    assert "# states are not counted" in copied(part)
    paste(part, '{"num_hidden_layers": "32"}')
    assert summary(part)["Layers"] == ["unknown: num_hidden_layers is “32”, no whole number above 0"]


def test_every_link_leads_to_a_section_that_is_there(book, part):
    found = {}
    for name in OFFERED:
        part.locator('[data-part="example"]').select_option(label=LABELS[name])
        links = part.locator('[data-part="fields"] a').evaluate_all(
            "(all) => all.map((a) => [a.href, a.textContent])"
        )
        found.update(links)
    assert len(found) > 25
    for address, words in found.items():
        page, _, anchor = address.partition("#")
        section = parsed(book / "chapters" / page.rpartition("/")[2]).find(id=anchor)
        heading = section.find(["h1", "h2"]).get_text().rstrip("#")
        assert words.endswith(f": {heading}"), words


def test_every_section_that_any_field_leads_to_is_there(book):
    text = (book / "_static/models/configuration-model.js").read_text(encoding="utf-8")
    held = json.loads(text.partition(" = ")[2].rstrip().rstrip(";"))
    names = [name for *_, names in held["fields"] for name in names]
    assert sorted(names) == sorted(field["name"] for field in census.fields())
    for _, section, at, names in held["fields"]:
        assert bool(section) == bool(at), names
        if at:
            page, _, anchor = at.partition("#")
            heading = parsed(book / page).find(id=anchor).find(["h1", "h2"]).get_text().rstrip("#")
            assert section.endswith(f": {heading}"), names


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "There is nothing to read yet"),
        ("  \n ", "There is nothing to read yet"),
        ('{"a": 1,\n}', "line 1, column 8: a comma before the closing “}”"),
        ('{\n  "a": 1 // why\n}', "line 2, column 10: a comment"),
        ('{"a": True}', "line 1, column 7: True is Python. JSON writes true."),
        ('{"a": None}', "JSON writes null."),
        ("{'a': 1}", "a single quote"),
        ('{"a": "b', "line 1, column 7: a text starts here"),
        ("[1, 2]", "this is a list"),
        ("12", "this is a single value"),
        ("<img src=x onerror=alert(1)>", "line 1, column 1: a value should stand here, and there is “<”"),
        ('{"a": ' + "[" * 80, "more than 60 objects or lists"),
    ],
)
def test_what_is_no_configuration_is_told_so(part, text, why):
    paste(part, "{}")
    paste(part, text)
    assert why in refused(part)
    assert not part.locator('[data-part="fields"]').is_visible()
    paste(part, '{"n_head": 2}')
    assert refused(part) == ""
    assert len(table(part, "fields")) == 1


def edit(part, old, new):
    """Put the caret behind a piece of the text, and type."""
    part.locator('[data-part="text"]').evaluate(
        """(area, old) => {
          area.focus();
          const at = area.value.indexOf(old) + old.length;
          area.setSelectionRange(at, at);
        }""",
        old,
    )
    for key in new:
        part.page.keyboard.press(key)


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_last_good_reading_stays_grey_while_the_text_is_none(site, bench, width):
    part = figure(site.open(bench, width=width), "configuration")
    value = part.locator('[data-part="summary"] dd').first
    colour = lambda: value.evaluate("(dd) => getComputedStyle(dd).color")  # noqa: E731
    area = part.locator('[data-part="text"]')
    height = lambda: part.bounding_box()["height"]  # noqa: E731
    top = lambda: area.bounding_box()["y"] - part.bounding_box()["y"]  # noqa: E731
    was, high, at, rows, ink = summary(part), height(), top(), table(part, "fields"), colour()
    edit(part, '"num_key_value_heads": 8', ["Backspace"])
    assert "line 10, column 26: a value should stand here" in refused(part)
    assert (summary(part), table(part, "fields")) == (was, rows)
    assert colour() != ink
    assert says(part) == "In grey: the last text that could be read."
    assert abs(height() - high) <= 24  # a line
    assert abs(top() - at) < 1
    for key in "64":
        part.page.keyboard.press(key)
    assert (refused(part), colour()) == ("", ink)
    assert abs(height() - high) <= 24
    assert says(part) == "35 fields: 29 in this book, 6 not."


def test_what_stood_before_a_change_stands_beside_what_stands_now(part):
    long = "at 131,072 tokens"
    in_all = lambda: summary(part).get("In all")  # noqa: E731
    assert in_all() == [f"4.5 GiB {long}, its longest text"]
    # On its way to 64 a text without the 8 is none, and six heads share no 64.
    edit(part, '"num_key_value_heads": 8', ["Backspace"])
    assert in_all() == [f"4.5 GiB {long}, its longest text"]
    part.page.keyboard.press("6")
    assert in_all() == [f"unknown {long}, its longest text; before 4.5 GiB"]
    part.page.keyboard.press("4")
    assert in_all() == [f"36.0 GiB {long}, its longest text; before 4.5 GiB"]
    # A change that makes none leaves it; the next one starts from what it finds.
    part.locator('[data-part="find"]').focus()
    edit(part, '"num_key_value_heads": 64', " ")
    assert in_all() == [f"36.0 GiB {long}, its longest text; before 4.5 GiB"]
    edit(part, '"max_position_embeddings": 131072', ["0"])
    # Both are told at one length.
    assert in_all() == ["360.0 GiB at 1,310,720 tokens, its longest text; before 45.0 GiB"]
    part.locator('[data-part="reset"]').click()
    assert in_all() == [f"4.5 GiB {long}, its longest text"]
    edit(part, '"num_key_value_heads": 8', ["Backspace", "4"])
    assert in_all() == [f"2.3 GiB {long}, its longest text; before 4.5 GiB"]
    # An example is compared with what stood there before it.
    part.locator('[data-part="example"]').select_option(label="Llama 2 7B")
    assert in_all() == ["2.0 GiB at 4,096 tokens, its longest text; before 74.3 MiB"]
    part.locator('[data-part="example"]').select_option(label="Mistral 7B v0.1")
    assert in_all() == ["512.0 MiB at 32,768 tokens, its longest text; before 16.0 GiB"]


@pytest.mark.parametrize("width", [320, 1280])
def test_the_drawing_stands_below_the_example_and_the_text_below_it(site, bench, width):
    part = figure(site.open(bench, width=width), "configuration")
    tops = [
        part.locator(f'[data-part="{name}"]').bounding_box()["y"]
        for name in ("example", "strip", "comb", "scale", "text", "defaults", "find", "fields")
    ]
    assert tops == sorted(tops)
    assert tops[1] - tops[0] < 140
    # What the drawing says takes a line more or less, and the text stays under the caret.
    area = part.locator('[data-part="text"]')
    edit(part, '"num_key_value_heads": 8', ["Backspace"])
    part.page.evaluate("scrollBy(0, 100)")
    at = area.bounding_box()["y"]
    for key in "64":
        part.page.keyboard.press(key)
    assert "36.0 GiB" in summary(part)["In all"][0]
    assert area.bounding_box()["y"] == pytest.approx(at, abs=1)


def test_what_is_too_big_is_not_read(part):
    part.page.evaluate(DROP, ["x" * (LONGEST + 1), False])
    assert "too long: 1,000,001 characters" in refused(part)
    part.page.evaluate(DROP, ["x" * (4 * LONGEST + 1), True])
    part.get_by_text("at most 1,000,000 are read").wait_for()
    paste(part, json.dumps({f"field {i}": i for i in range(3000)}))
    assert len(table(part, "fields")) == 1500
    assert "3,000 fields" in says(part)
    assert "The first 1,500 are listed." in says(part)


def test_names_and_values_are_text_and_never_markup(site, part):
    evil = '<img src=x onerror="window.bad = 1"><script>window.bad = 1</script>'
    paste(
        part, json.dumps({evil: evil, "__proto__": {evil: [evil]}, "model_type": evil, "layer_types": [evil]})
    )
    assert part.locator("img, script").count() == 0
    assert table(part, "fields")[0][0] == evil
    assert part.page.evaluate("window.bad") is None
    paste(part, evil)
    assert part.locator("img, script").count() == 0


def test_a_file_or_a_text_can_be_dropped_and_a_file_be_picked(part):
    part.page.evaluate(DROP, ['{"n_head": 3}', False])
    assert table(part, "fields")[0][:2] == ["n_head", "3"]
    part.page.evaluate(DROP, ['{"n_layer": 5}', True])
    part.get_by_text("5, of which is unknown", exact=False).or_(
        part.locator("tr", has_text="n_layer")
    ).first.wait_for()
    assert table(part, "fields")[0][:2] == ["n_layer", "5"]
    with part.page.expect_file_chooser() as chosen:
        part.locator('[data-part="file"]').press("Enter")
    chosen.value.set_files(
        {"name": "config.json", "mimeType": "application/json", "buffer": b'{"vocab_size": 7}'}
    )
    part.locator("tr", has_text="vocab_size").wait_for()
    assert table(part, "fields")[0][:2] == ["vocab_size", "7"]


def test_a_field_is_found_by_a_part_of_its_name(part):
    find = part.locator('[data-part="find"]')
    find.press_sequentially("ROPE")
    rows = part.locator('[data-part="fields"] tbody tr:visible th')
    assert rows.count() > 3
    assert all("rope" in name for name in rows.all_inner_texts())
    # The text shows where the first one found is written, and that of an object behind the object's own name.
    paste(
        part, text_of({"factor": 1} | {f"wing_{i}": i for i in range(40)} | {"rope_scaling": {"factor": 2}})
    )
    area = part.locator('[data-part="text"]')
    lines = area.evaluate("(area) => area.scrollHeight / area.value.split('\\n').length")
    for words, at in (("wing_30", 32), ("rope_scaling.f", 42), ("factor", 1)):
        find.fill(words)
        top = area.evaluate("(area) => area.scrollTop") / lines
        assert at - 7 < top <= at, words
    find.fill("wings")
    assert part.get_by_text("No field has this in its name.").is_visible()
    part.locator('[data-part="example"]').select_option(label="Llama 2 7B")
    assert find.input_value() == ""
    assert part.locator('[data-part="fields"] tbody tr:visible').count() == 5


def test_keys_alone_reach_everything(part):
    part.locator('[data-part="example"]').focus()
    reached = []
    for _ in range(5):
        reached.append(
            part.page.evaluate("document.activeElement.dataset.part ?? document.activeElement.tagName")
        )
        part.page.keyboard.press("Tab")
    assert reached == ["example", "file", "text", "find", "A"]
    part.locator('[data-part="example"]').focus()
    part.page.keyboard.press("Home")
    part.page.keyboard.type("Llama")
    assert part.locator('[data-part="text"]').input_value() == text_of(census.published("llama"))


def test_reset_and_undo_and_the_menu(part):
    paste(part, "no")
    part.locator('[data-part="reset"]').click()
    assert part.locator('[data-part="text"]').input_value() == text_of(census.published("gpt_oss"))
    part.locator('[data-part="undo"]').click()
    assert "“no” is no value" in refused(part)
    part.locator('[data-part="reset"]').click()
    # What one pastes would stand in the link's address, and be sent with it.
    assert part.locator('[data-part="link"]').count() == 0
    printed, names = run_copied(part)
    assert names["grows"].tolist() == [36864, 36864]
    assert printed.splitlines()[0] == f"4096 {round(36864 * (4096 + 128) / 2**20, 1)} MiB"


@pytest.mark.parametrize("name", ["mamba2", "deepseek_v4"])
def test_copied_code_runs_where_nothing_grows_or_nothing_is_known(part, name):
    part.locator('[data-part="example"]').select_option(label=LABELS[name])
    printed, _ = run_copied(part)
    assert printed.split("\n")[0] == ("4096 82.6 MiB" if name == "mamba2" else "")


def marks(part):
    """Where the sizes of the cache stand, as shares of their scale."""
    return dict(
        part.locator('[data-part="scale"] path:not([data-of="all"])').evaluate_all(
            "(all) => all.filter((path) => path.getAttribute('d')).map((path) =>"
            " [path.dataset.of, Math.round(1000 * path.getBBox().x / 480) / 1000])"
        )
    )


def test_each_layer_has_a_tick_in_its_order(part):
    ticks = lambda: part.locator('[data-part="strip"] path').evaluate_all(  # noqa: E731
        "(all) => all.map((tick) => [tick.dataset.kind, Math.round(100 * tick.getBBox().height / 48) / 100])"
    )
    assert ticks() == [["window", 0.45], ["full", 1]] * 18
    for name, kinds in (("kimi_linear", (20, 27)), ("mamba2", (64, 64)), ("deepseek_v4", (0, 0))):
        part.locator('[data-part="example"]').select_option(label=LABELS[name])
        assert ([kind for kind, _ in ticks()].count("linear"), len(ticks())) == kinds


def test_each_group_of_queries_stands_above_the_keys_and_values_that_it_shares(part):
    comb = lambda: part.locator('[data-part="comb"] path').evaluate_all(  # noqa: E731
        "(all) => all.map((row) => [row.dataset.of, row.getAttribute('d').split('z').length - 1])"
    )
    assert comb() == [["query", 64], ["key", 8], ["value", 8]]
    edit(part, '"num_key_value_heads": 8', ["Backspace", "6", "4"])
    assert comb() == [["query", 64], ["key", 64], ["value", 64]]
    part.locator('[data-part="example"]').select_option(label="Kimi Linear 48B-A3B")
    assert comb() == [["query", 32], ["ink", 1]]
    for text in ('{"num_attention_heads": 6, "num_key_value_heads": 4}', '{"num_attention_heads": 1000000}'):
        paste(part, text)
        assert comb() == []


def test_all_sizes_stand_on_one_scale(part):
    place = lambda gib: round(math.log2(gib * 2**10 / 4) / 20, 3)  # noqa: E731
    assert marks(part) == {"now": pytest.approx(place(4.5), abs=0.002)}
    edit(part, '"num_key_value_heads": 8', ["Backspace", "6", "4"])
    assert marks(part) == pytest.approx({"now": place(36), "before": place(4.5)}, abs=0.002)
    # The next example has a mark for this one at its own length, and the scale is the same.
    part.locator('[data-part="example"]').select_option(label="Llama 2 7B")
    there = 294_912 * (4096 + 128) / 2**30  # of half the layers, and 128 tokens of the others
    assert marks(part) == pytest.approx({"now": place(2), "before": place(there)}, abs=0.002)
    # Its marks stand above their names.
    scale = part.locator('[data-part="scale"]')
    at = scale.evaluate("""(svg) => {
      const { left, width } = svg.getBoundingClientRect();
      return [...svg.nextElementSibling.children].map((name) => {
        const box = name.getBoundingClientRect();
        return [name.textContent, (box.left + box.width / 2 - left) / width];
      });
    }""")
    assert [name for name, _ in at] == ["16 MiB", "256 MiB", "4 GiB", "64 GiB", "1 TiB"]
    assert [x for _, x in at] == pytest.approx([place(16**i / 64) for i in range(5)], abs=0.002)
    for heads, x in ((10**10, 1), (1, 0)):  # what is beyond it stands at its end
        paste(part, json.dumps({"n_layer": 1, "n_head": heads, "head_dim": 1, "n_positions": 1024}))
        assert marks(part)["now"] == x
    # It stands where nothing grows, and where nothing is known.
    for name, now in (("mamba2", place(86_638_592 / 2**30)), ("deepseek_v4", None)):
        part.locator('[data-part="reset"]').click()
        part.locator('[data-part="example"]').select_option(label=LABELS[name])
        assert scale.is_visible()
        assert marks(part).get("now") == (now and pytest.approx(now, abs=0.002))


@pytest.mark.parametrize("width", [390, 1280])
def test_no_example_moves_what_stands_below_it(site, bench, width):
    part = figure(site.open(bench, width=width), "configuration")
    places = set()
    for name in OFFERED:
        part.locator('[data-part="example"]').select_option(label=LABELS[name])
        box = part.locator(".attnlab-root").bounding_box()
        area = part.locator('[data-part="text"]').bounding_box()["y"] - box["y"]
        places.add((round(area), round(box["height"])))
    assert len(places) == 1


def test_the_saved_drawing_has_the_summary(part):
    text = saved(part)
    assert text.count("<path") == 36
    assert "18 layers × 2 × 8 × 64 × 2 bytes = 36,864 bytes a token" in text


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_width_scrolls_sideways_and_axe_finds_nothing(site, bench, width, theme):
    page = site.open(bench, width=width, theme=theme)
    part = figure(page, "configuration")
    for text in (None, '{"a": 1,}', json.dumps({"a" * 90: "b" * 300, "x": {"y" * 60: list(range(200))}})):
        if text:
            paste(part, text)
        assert_fits_a_thumb(part)
        assert violations(page) == []


def test_a_phone_keeps_it_a_table_for_whoever_hears_it(site, bench):
    page = site.open(bench, width=320)
    part = figure(page, "configuration")
    part.locator('[data-part="all"]').click()
    rows = part.get_by_role("table", name="Fields").get_by_role("row")
    assert rows.count() == 1 + len(table(part, "fields"))
    assert part.get_by_role("columnheader").all_inner_texts() == [
        "field",
        "value",
        "what it means",
        "section",
    ]


def test_it_reads_from_a_file_with_no_server(site, book, bench):
    part = figure(site.open(bench, address=book.as_uri()), "configuration")
    part.locator('[data-part="example"]').select_option(label="Llama 2 7B")
    assert summary(part)["Cache"] == ["32 layers × 2 × 32 × 128 × 2 bytes = 524,288 bytes a token"]
    link = part.locator('[data-part="fields"] a').first
    assert link.get_attribute("href").startswith(book.as_uri())


def test_the_page_has_it_and_chapter_and_contents_lead_to_it(site, book):
    page = site.open("chapters/configuration")
    assert figure(page, "configuration").locator('[data-part="fields"] tbody tr').count() > 30
    assert page.locator("nav.bd-links a", has_text="Read a configuration").count() == 1
    # Before the tool, at most a third of a usual screen is prose.
    title, tool = (page.locator(what).first.bounding_box()["y"] for what in ("article h1", "article figure"))
    assert tool - title < 300
    chapter = next((book / "chapters").glob("*_todays_models.html"))
    assert parsed(chapter).select_one('article a[href^="configuration.html"]')
