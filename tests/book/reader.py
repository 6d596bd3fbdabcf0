"""What a reader does with a figure in a page, and what the figure then shows."""

import html
import io
import re
from contextlib import redirect_stdout
from functools import lru_cache
from pathlib import Path

from attnlab_book import licences
from bs4 import BeautifulSoup

AXE = Path(__file__).resolve().parents[2] / "node_modules/axe-core/axe.min.js"
# All that is left out is reading the style sheets again, for a rule that is off unless one asks for it: a
# third of axe's time.
AXE_OPTIONS = {"resultTypes": ["violations"], "preload": {"assets": ["media"]}}
SIDEWAYS = """() => {
  const inside = (e) => { for (let p = e.parentElement; p; p = p.parentElement)
    if (["auto", "scroll", "hidden"].includes(getComputedStyle(p).overflowX)) return true; return false; };
  if (document.documentElement.scrollWidth <= innerWidth) return [];
  const wide = [...document.body.querySelectorAll("*")].filter(
    (e) => e.getBoundingClientRect().right > innerWidth + 1 && !inside(e));
  return ["the page scrolls", ...wide.slice(0, 3).map((e) => e.outerHTML.slice(0, 120))];
}"""
SMALL = """(figures) => figures
  .flatMap((figure) => [...figure.querySelectorAll("button, input, summary, [role=slider]")])
  .filter((e) => e.checkVisibility() && e.type !== "checkbox")
  .filter((e) => { const r = e.getBoundingClientRect(); return r.width < 24 || r.height < 24; })
  .map((e) => e.outerHTML.slice(0, 90))"""

TOUCHING = """(figure) => {
  const root = figure.querySelector(".attnlab-root").getBoundingClientRect();
  const texts = [...figure.querySelectorAll("svg text")].filter((e) => e.checkVisibility() && e.textContent);
  const boxes = texts.map((e) => e.getBoundingClientRect());
  const over = (a, b, side, end) => Math.min(a[end], b[end]) - Math.max(a[side], b[side]);
  const found = boxes.flatMap((a, i) => boxes.slice(i + 1).flatMap((b, j) =>
    over(a, b, "left", "right") > 0.5 && over(a, b, "top", "bottom") > 3
      ? [`${texts[i].textContent} touches ${texts[i + 1 + j].textContent}`] : []));
  texts.forEach((text, i) => {
    const drawn = text.ownerSVGElement.getBoundingClientRect();
    const cut = getComputedStyle(text.ownerSVGElement).overflow !== "visible";
    const left = Math.max(root.left, cut ? drawn.left : 0) - 0.5;
    const right = Math.min(root.right, cut ? drawn.right : root.right) + 0.5;
    if (boxes[i].left < left || boxes[i].right > right) found.push(`${text.textContent} is cut`);
  });
  for (const e of figure.querySelectorAll("button, summary")) {
    if (e.checkVisibility() && e.scrollWidth > e.clientWidth + 1) found.push(`${e.textContent} is too wide`);
  }
  return found;
}"""
"""What of a figure touches or is cut: the texts of its drawings, the words on its buttons."""

STILL = """async () => {
  await Promise.all(document.getAnimations().map((animation) => animation.finished));
  await new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)));
}"""


def parsed(path: Path) -> BeautifulSoup:
    """Parse a file of the book, once for all tests as long as it stays the same. Change a copy, not this."""
    return _parsed(path, path.stat().st_mtime_ns)


@lru_cache
def _parsed(path: Path, changed: int) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def figure(page, name, nth=0):
    """Find a figure, once it stands."""
    found = page.locator(f'figure[data-attnlab="{name}"]').nth(nth)
    found.locator('[data-part="reset"]').wait_for()
    return found


def table(part, name="numbers") -> list[list[str]]:
    """Read the cells of one of the figure's tables, without its head."""
    rows = part.locator(f'[data-part="{name}"] tbody tr')
    return rows.evaluate_all("(rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent))")


def static(tables: str) -> list[list[list[str]]]:
    """Read the cells of the tables that Python writes, without their heads."""
    return [
        [
            [html.unescape(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)]
            for row in re.findall(r"<tr>(.*?)</tr>", body)
        ]
        for body in re.findall(r"<tbody>(.*?)</tbody>", tables)
    ]


def number(cell: str) -> float:
    """Read a number as the figures write it, with a real minus sign."""
    return float(cell.replace("−", "-"))


def says(part) -> str:
    """Read the line that says the state in words."""
    return part.locator('[data-part="status"]').inner_text()


def handle(part, which):
    """Find what can be dragged."""
    return part.locator(f'[data-part="handle"][data-which="{which}"]')


def choose(part, group, value):
    """Click one of a row of choices."""
    part.locator(f'[data-part="{group}"] [data-value="{value}"]').click()


def press(part, name, *keys):
    """Go to a control and press keys."""
    part.locator(f'[data-part="{name}"]').focus()
    for key in keys:
        part.page.keyboard.press(key)


def drag(page, start, end, steps=4):
    """Press the pointer at one point of the window and let it go at another."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=steps)
    page.mouse.up()


def middle(locator) -> tuple[float, float]:
    """Bring something into the window and return the point in its middle."""
    locator.scroll_into_view_if_needed()
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def more(part, button):
    """Press a button of the menu, wherever that waits."""
    unfold(part)
    part.locator('[data-part="menu"] > summary').click()
    part.locator(f'[data-part="{button}"]').click()


def unfold(part):
    """Open the fold in which a figure's own buttons wait, if it has one."""
    for summary in part.locator('[data-part="more"]:not([open]) > summary').all():
        summary.click()


def copied(part, button="pytorch", said="Copied.") -> str:
    """Press a button that copies, and read what it copied."""
    more(part, button)
    part.get_by_text(said, exact=True).wait_for()
    return part.page.evaluate("navigator.clipboard.readText()")


def run_copied(part) -> tuple[str, dict]:
    """Run the code that a figure gives; return what it printed and the names it made."""
    shown, space = io.StringIO(), {}
    code = copied(part)
    assert code.startswith(licences.SIGNED)
    with redirect_stdout(shown):
        exec(code, space)
    return shown.getvalue().strip(), space


def saved(part) -> str:
    """Save the drawing, and read the file: an SVG that stands alone."""
    with part.page.expect_download() as download:
        more(part, "svg")
    text = download.value.path().read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "http://www.w3.org/2000/svg" in text
    assert "var(" not in text
    return text


def violations(page, *rules: str) -> list[str]:
    """Run axe's rules, or only some of them, on the page once it stands still."""
    page.evaluate(STILL)
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    options = AXE_OPTIONS | ({"runOnly": list(rules)} if rules else {})
    found = page.evaluate("(options) => axe.run(options).then((r) => r.violations)", options)
    nodes = [(one["id"], one["nodes"][0], len(one["nodes"])) for one in found]
    return [f"{rule} ×{n}: {node['html'][:160]} {node['failureSummary'][:200]}" for rule, node, n in nodes]


def assert_readable_under_the_mouse(button):
    """The letters of a filled button have the colour of paper: the ground must not take it, too."""
    colours = "(e) => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    before = button.evaluate(colours)
    button.hover()
    letters, ground = button.evaluate(colours)
    assert letters == before[0]
    assert letters not in (before[1], ground)


def assert_fits_a_thumb(part):
    """The page does not scroll sideways, and every target of the figure is 24 px or more."""
    assert part.page.evaluate(SIDEWAYS) == []
    assert part.evaluate_all(SMALL) == []


def without_table(figure):
    """Write a figure without its table: exact ceilings take seconds, and are read elsewhere."""
    figure.table = lambda: ""
    return figure._repr_html_()
