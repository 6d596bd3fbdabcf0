"""A chapter's number is the one in its file name: in titles, lists, exercises, equations and mentions."""

import re
import subprocess
from copy import copy
from pathlib import Path

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

from .conftest import ROOT, chapters, dev_setup, toc_pages
from .reader import parsed

BOOK = chapters.read(ROOT)
WRITTEN = [chapter for chapter in BOOK if chapter.number is not None]
PARTS = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
by_topic = pytest.mark.parametrize("chapter", WRITTEN, ids=lambda chapter: chapter.topic)


def soup(book: Path, page: str) -> BeautifulSoup:
    return parsed(book / f"{page}.html")


def words(element) -> str:
    """Read what an element shows, without the sign that links to it."""
    return re.sub(r"\s+", " ", element.get_text()).replace("#", "").strip()


def name(chapter) -> str:
    return f"{chapter.label} {chapter.title}"


def count(elements, pattern) -> list[str]:
    """Read the number that each of these begins with, or that stands in its brackets."""
    return [re.match(pattern, words(element))[1] for element in elements]


@by_topic
def test_title_browser_title_and_part_say_where_one_is(book, chapter):
    page = soup(book, chapter.page)
    article = page.find("article")
    assert words(article.find("h1")) == name(chapter)
    assert words(page.find("title")).startswith(f"{name(chapter)} —")
    part = article.find(class_="attn-part")
    leads = part.find("a").extract()
    assert words(part).strip() == chapter.part
    # What is read first of the first figure is its prediction, where the title's link leads.
    place = article.find(id=leads["href"].removeprefix("#"))
    assert "predict" in place["class"]
    assert place.find_next(class_="has-figure") == article.find(class_="has-figure")


@by_topic
def test_the_page_before_and_the_page_after_are_named_with_their_numbers(book, chapter):
    pages, names = toc_pages(), {one.page: name(one) for one in WRITTEN}
    at = pages.index(chapter.page)
    for side, other in (("left-prev", pages[at - 1]), ("right-next", pages[at + 1])):
        link = soup(book, chapter.page).find("a", class_=side)
        assert link["href"].endswith(f"{other.rpartition('/')[2]}.html")
        if other in names:
            assert words(link.find(class_="prev-next-title")) == names[other]


def test_the_sidebar_lists_parts_and_numbers(book):
    for page in (toc_pages()[0], WRITTEN[0].page):
        bar = soup(book, page).find("nav", class_="bd-links")
        assert [words(caption) for caption in bar.find_all(class_="caption")] == [
            part["caption"] for part in PARTS
        ]
        shown = [words(link) for link in bar.find_all("a")]
        assert [text for text in shown if text[:1].isdigit()] == [name(chapter) for chapter in WRITTEN]


@by_topic
def test_exercises_and_equations_count_from_one_in_each_chapter(book, chapter):
    page = soup(book, chapter.page)
    titles = page.select("div.exercise > p.admonition-title")
    expected = [f"{chapter.number}.{nth}" for nth in range(1, len(titles) + 1)]
    assert len(titles) >= 3
    assert count(titles, r"Exercise ([\d.]+)") == expected
    solutions = page.select("div.solution > p.admonition-title")
    assert count(solutions, r"Solution to Exercise ([\d.]+)") == expected
    equations = {place.parent["id"]: words(place) for place in page.select("span.eqno")}
    assert list(equations.values()) == [f"({chapter.number}.{nth})" for nth in range(1, len(equations) + 1)]
    for link in page.select('article a[href^="#equation-"]:not(.headerlink)'):
        assert words(link) == equations[link["href"][1:]]


@pytest.mark.parametrize("page", toc_pages())
def test_each_mention_of_a_chapter_is_a_link_that_says_its_number(book, page):
    article = copy(soup(book, page).find("article"))
    # What the book counts has a test of its own.
    for table in article.find_all(class_="attn-counted"):
        table.decompose()
    links = [(words(link), link["href"]) for link in article.find_all("a", class_="attn-chapter")]
    expected = []
    for role, names in mentions(page):
        for text, chapter in chapters.resolve(BOOK, role, names):
            if chapter:
                file = "" if chapter.page == page else f"{chapter.page.rpartition('/')[2]}.html"
                expected.append((re.sub(r"\s+", " ", text), file + chapter.anchor))
    assert links == expected
    for element in article.find_all(["script", "style"]):
        element.decompose()
    assert not re.search(r"\{[Cc]hapter", article.get_text())


def mentions(page: str) -> list[tuple[str, str]]:
    """Read the mentions of a page's text, in order."""
    if (ROOT / f"{page}.md").exists():
        texts = [(ROOT / f"{page}.md").read_text(encoding="utf-8")]
    else:
        cells = nbformat.read(ROOT / f"{page}.ipynb", as_version=4).cells
        texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    return [found for text in texts for found in chapters.ROLE.findall(text)]


FIRST = """# One

{Chapter}`second` and {chapter}`third` follow: {chapter}`second, third`.
"""
NEXT = """# {title}

After {{chapter}}`first`.

$$ a = b $$ (eq-{topic})

Equation {{eq}}`eq-{topic}`, {{ref}}`ex-{topic}`.

:::{{exercise}} Do it
:label: ex-{topic}

Now.
:::
"""


@pytest.fixture
def small(tmp_path):
    """A book of three short chapters, with this book's settings."""
    for used in ("_ext", "_templates", "_static", "_config.yml"):
        (tmp_path / used).symlink_to(ROOT / used)
    pages = tmp_path / "chapters"
    pages.mkdir()
    (pages / "references.bib").touch()
    (pages / "index.md").write_text("# Small\n\n{chapter-title}`second`, {chapter-title}`third`\n")
    (pages / "01_first.md").write_text(FIRST)
    (pages / "02_second.md").write_text(NEXT.format(title="Two", topic="second"))
    (pages / "03_third.md").write_text(NEXT.format(title="Three", topic="third"))
    return tmp_path


def build(folder: Path) -> subprocess.CompletedProcess:
    names = sorted(path.stem for path in (folder / "chapters").glob("*_*.md"))
    part = {"caption": "Part I", "chapters": [{"file": f"chapters/{stem}"} for stem in names]}
    toc = {"format": "jb-book", "root": "chapters/index", "parts": [part]}
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc))
    return subprocess.run(
        dev_setup.build_command(), cwd=folder, env=dev_setup.variables(), capture_output=True, text=True
    )


def test_new_file_names_are_all_that_new_numbers_need(small):
    pages, html = small / "chapters", small / "_build/html"
    with (pages / "index.md").open("a") as index:
        index.write("\n{chapter}`secnd` is misspelt.\n")
    done = build(small)
    assert done.returncode != 0
    assert "'secnd' is no topic of a chapter: first, second, third" in done.stdout + done.stderr
    assert "Chapter 02 and chapter 03 follow: chapters 02 and 03." in words(soup(html, "chapters/01_first"))

    (pages / "index.md").write_text("# Small\n\n{chapter-title}`second`, {chapter-title}`third`\n")
    for old, new in (("03_third", "11_third"), ("02_second", "10_second")):
        (pages / f"{old}.md").rename(pages / f"{new}.md")
    done = build(small)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "10 Two, 11 Three" in words(soup(html, "chapters/index"))
    # The page itself did not change: its links do.
    first = soup(html, "chapters/01_first")
    assert "Chapter 10 and chapter 11 follow: chapters 10 and 11." in words(first)
    assert words(first.find("a", class_="right-next").find(class_="prev-next-title")) == "10 Two"
    second = soup(html, "chapters/10_second").find("article")
    assert words(second.find("h1")) == "10 Two"
    assert "After chapter 01." in words(second)
    assert "Equation (10.1), Exercise 10.1." in words(second)
