"""A figure that is drawn before it stands in a page looks like one that stood there: notebooks draw so."""

import html
import json
import re

import pytest
from attnlab_book import fields

from attnbook.widgets.figure import STATIC

from .conftest import PATIENCE, ROOT

HERE = "http://127.0.0.1:9"
"""Nothing answers there: the test does."""
STAND = """async ([here, name, settings, wide, ways]) => {
  const { default: figure } = await import(`${here}/${name}.js`);
  const shadow = (host) => host.attachShadow({ mode: "open" });
  const window = (host) => {
    const inner = host.appendChild(document.createElement("iframe"));
    inner.style = "width: 100%; border: 0";
    inner.contentDocument.write("<!doctype html><body style='margin: 0'>");
    return inner.contentDocument.body;
  };
  const homes = { page: (host) => host, later: (host) => host, shadow, window, moved: shadow };
  const still = async () => {
    for (let i = 0; i < 2; i++) await new Promise((drawn) => requestAnimationFrame(drawn));
  };
  const stand = async (way) => {
    const values = structuredClone(settings);
    const set = (key, value) => void (values[key] = value);
    const model = { get: (key) => values[key], set, save_changes() {}, on() {} };
    const place = document.body.appendChild(document.createElement("div"));
    // All in sight at once: a figure that nobody sees puts its work off.
    place.style = `position: absolute; top: 0; width: ${wide}px`;
    const el = document.createElement("div");
    const home = homes[way](place);
    if (["page", "moved"].includes(way)) place.append(el);
    else document.createElement("div").append(el);
    await figure.render({ model, el, place: { base: `${here}/` } });
    await still();
    if (el.parentNode !== home) home.append(el);
    await still();
    const root = el.querySelector(".attnlab-root");
    // Where a word is picked, the figure thinks of a question.
    if (name === "tag" && settings.word >= 0) while (!root.querySelector(".is-asked")) await still();
    // A design is counted in turns.
    const price = root.querySelector('[data-part="price"]');
    while (price?.textContent === "…") await still();
    const { paddingTop, color, backgroundColor } = getComputedStyle(root);
    const seen = (what) => [...root.querySelectorAll(what)].filter((e) => e.checkVisibility());
    return {
      paddingTop, color, backgroundColor,
      ink: getComputedStyle(root).getPropertyValue("--fig-ink"),
      lines: seen("button, summary, svg, td").map((e) => getComputedStyle(e).borderTopWidth).join(" "),
      words: root.innerText,
      drawings: seen("svg").map((svg) => svg.getAttribute("viewBox")).join(),
      high: root.getBoundingClientRect().height,
      scrolled: seen("*").map((e) => e.scrollLeft).filter(Boolean).join(),
    };
  };
  const looks = await Promise.all(ways.map(stand));
  document.querySelectorAll("style").forEach((sheet) => sheet.remove());
  document.body.replaceChildren();
  return looks;
}"""


def stored():
    """Yield the name and the settings of every figure of the chapters, as their pages store them."""
    for path in sorted(ROOT.glob("chapters/*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                shown = "".join(output.get("data", {}).get("text/html", ""))
                for name, settings in re.findall(r'data-attnlab="(\w+)" data-settings="([^"]*)"', shown):
                    yield name, json.loads(html.unescape(settings))


@pytest.fixture(scope="module")
def bench(browser):
    """An empty page beside which the figures' modules lie: no book, no notebook, no host."""
    page = browser.new_context(reduced_motion="reduce").new_page()
    page.set_default_timeout(PATIENCE)

    def answer(route):
        file = STATIC / route.request.url.rpartition("/")[2]
        if file.name == fields.NAME:  # made with the book, since it names its sections
            script = fields.script(lambda topic, heading: (heading, f"{topic}.html"))
            route.fulfill(body=script, content_type="text/javascript")
        elif file.suffix == ".js" and not file.exists():
            route.fulfill(status=404)  # whoever waits for an answer would wait for ever
        elif file.suffix == ".js":
            route.fulfill(body=file.read_text(encoding="utf-8"), content_type="text/javascript")
        else:
            route.fulfill(body="<!doctype html><title>Bench</title>", content_type="text/html")

    page.route(f"{HERE}/**", answer)
    page.goto(f"{HERE}/")
    yield page
    page.context.close()


FIGURES = [(name, settings, 900) for name, settings in stored()]
# What is measured only in another state: more digits where there is room, a strip that scrolls.
CALCULATOR = next(settings for name, settings, _ in FIGURES if name == "calculator")
HEADS = next(settings for name, settings, _ in FIGURES if name == "inside")
LONG = max(range(len(HEADS["texts"])), key=lambda i: HEADS["texts"][i]["layers"])
FIGURES += [
    ("calculator", CALCULATOR | {"stage": 5, "focus": [0, 0]}, 900),
    ("anatomy", {"first": "llama", "second": "deepseek_v4", "length": 32768}, 900),
    ("inside", HEADS | {"sentence": LONG, "layer": HEADS["texts"][LONG]["layers"], "head": 1}, 330),
]


def test_a_figure_looks_the_same_wherever_it_was_drawn(bench):
    assert {f"{name}.js" for name, _, _ in FIGURES} == {
        path.name for path in STATIC.glob("*.js") if "-model" not in path.name
    }
    different = []
    for name, settings, wide in FIGURES:
        # A style that one left in the page's head would serve the next: what is drawn first comes first.
        ways = ["later"], ["page", "shadow", "window", "moved"]
        later, *others = (
            looks for some in ways for looks in bench.evaluate(STAND, [HERE, name, settings, wide, some])
        )
        wanted = others[0]
        assert wanted["paddingTop"] == "16px"
        assert wanted["ink"]
        for way, looks in zip(["later", *ways[1]], [later, *others], strict=True):
            different += [f"{name}, {way}: {key}" for key in wanted if looks[key] != wanted[key]]
    assert different == []
