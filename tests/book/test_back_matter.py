"""The pages that tie the book together, glossary, reference and counts, held against their sources."""

import ast
import doctest
import re
import sys
from collections import Counter

import nbformat
import pytest
import readers
import set_address
from attnlab_book import cards, counts, drawings, lessons, licences, names, search, terms
from bs4 import BeautifulSoup

from attnbook.checks.exercise import EXERCISES, OTHERS

from .conftest import ROOT, chapters, toc_pages
from .reader import parsed

sys.path.insert(0, str(ROOT / "tests/exercises"))

import answers

WRITTEN = [chapter for chapter in chapters.read(ROOT) if chapter.number is not None]
by_topic = pytest.mark.parametrize("chapter", WRITTEN, ids=lambda chapter: chapter.topic)


def page(book, name) -> BeautifulSoup:
    return parsed(book / f"{name}.html")


def cells(chapter):
    return nbformat.read(ROOT / f"{chapter.page}.ipynb", as_version=4).cells


@pytest.mark.parametrize(
    "module",
    [cards, chapters, counts, drawings, lessons, licences, names, search, terms],
    ids=lambda module: module.__name__,
)
def test_the_examples_of_the_books_extension_run(module):
    ran = doctest.testmod(module)
    assert ran.attempted
    assert not ran.failed


@by_topic
def test_a_term_is_linked_where_a_chapter_uses_it_first_and_nowhere_in_a_title(book, chapter):
    article = page(book, chapter.page).find("article")
    links = article.select("a[href*='glossary.html#term-']")
    assert len(links) >= 5
    assert not [link for link in links if link.find_parent(["h1", "h2", "h3", "code", "figure", "pre"])]
    places = [link["href"] for link in links]
    # What a chapter marks by hand may stand more than once; what is found in its text stands once.
    marked = " ".join(re.findall(r"\{term\}`[^`]*`", " ".join(cell.source for cell in cells(chapter))))
    again = [place for place, times in Counter(places).items() if times > 1]
    plain = marked.lower().replace("-", " ")
    assert not [
        place for place in again if place.partition("#term-")[2].lower().replace("-", " ") not in plain
    ]


def test_links_to_the_glossary_say_what_the_term_means(book):
    link = page(book, WRITTEN[1].page).select_one("article a[href$='#term-softmax']")
    assert (
        link["title"]
        == "Exponentials divided by their sum: turns a row of scores into positive weights that sum to one"
    )


def test_the_glossary_lists_for_each_term_the_chapters_that_link_to_it(book):
    wanted = {}
    for chapter in WRITTEN:
        for link in page(book, chapter.page).select("article a[href*='glossary.html#term-']"):
            wanted.setdefault(link["href"].partition("#")[2], set()).add(chapter.label)
    listed = {}
    for term in page(book, "chapters/glossary").select("dl.glossary dt"):
        line = term.find_next_sibling("dd").find(class_="attn-used")
        if line:
            assert line.get_text().startswith("chapter" if len(line.find_all("a")) == 1 else "chapters")
            listed[term["id"]] = {link.get_text() for link in line.find_all("a")}
    assert listed == wanted


def test_every_term_of_the_glossary_is_linked_from_a_chapter(book):
    linked = {
        link["href"].partition("#")[2]
        for chapter in WRITTEN
        for link in page(book, chapter.page).select("article a[href*='glossary.html#term-']")
    }
    defined = {
        term["id"]: term.get_text() for term in page(book, "chapters/glossary").select("dl.glossary dt")
    }
    assert len(defined) == len(terms.read((ROOT / f"{terms.GLOSSARY}.md").read_text()))
    assert [name for place, name in defined.items() if place not in linked] == []


def test_contents_name_the_chapters_that_the_notations_headings_name(book):
    notation = page(book, "chapters/notation")
    numbered = [chapter for chapter in WRITTEN if notation.select_one(f"h3 a[href*='{chapter.topic}.html']")]
    assert len(numbered) > 12
    titles = [f"{chapter.label} {chapter.title}" for chapter in numbered]
    listed = [link.get_text().strip() for link in notation.select("nav.page-toc a")]
    assert [title for title in listed if title in titles] == titles


def test_an_everyday_word_is_a_term_only_where_it_is_introduced():
    assert {term for term in terms.read((ROOT / f"{terms.GLOSSARY}.md").read_text())} >= terms.ORDINARY
    found = terms.mentions("Keys and state: GQA, multi-query attention.", {
        "key": sorted(terms.forms("key")),
        "grouped-query attention (GQA)": sorted(terms.forms("grouped-query attention (GQA)")),
        "attention": ["attention"],
        "multi-query attention (MQA)": sorted(terms.forms("multi-query attention (MQA)")),
    })  # fmt: skip
    assert list(terms.mentions("any text", {})) == []
    assert [term for _, term in found] == [
        "key",
        "grouped-query attention (GQA)",
        "multi-query attention (MQA)",
    ]


@by_topic
def test_an_everyday_word_in_a_bold_sentence_is_none(book, chapter):
    # "start from larger weights": those of a model, and not those after a softmax, of which the term speaks.
    links = page(book, chapter.page).select("article :is(strong, em) a[href*='glossary.html#term-']")
    everyday = [link for link in links if link["href"].partition("#term-")[2] in terms.ORDINARY]
    assert [link.parent.get_text() for link in everyday if not terms.is_name(link.parent.get_text())] == []


@by_topic
def test_what_a_chapter_calls_of_the_package_stands_in_the_reference(book, chapter):
    linked = {
        link["href"].partition("#")[2]
        for link in page(book, chapter.page).select("article .highlight a.attn-name")
    }
    documented = {
        place["id"]
        for path in (book / "chapters/api").glob("*.html")
        for place in parsed(path).select("dl.py dt.sig[id]")
    }
    packages = {name: __import__(name) for name in names.PACKAGES}
    known = {names.find(name, packages) for name in documented}
    sources = [cell.source for cell in cells(chapter) if cell.cell_type == "code"]
    called = names.used(sources)
    missing = set(called) - known - {name for name in called if _is_module(name)}
    assert missing == set()
    assert linked <= documented
    assert len(linked) >= 5


def _is_module(name):
    return (ROOT / "src" / (name.replace(".", "/") + ".py")).exists() or (
        ROOT / "src" / name.replace(".", "/")
    ).is_dir()


def test_a_name_that_a_chapter_defines_itself_is_not_the_packages():
    sources = ["from attnlab import attention, masks as m", "def attention(q, k, v):\n    return m.causal(3)"]
    assert names.used(sources) == ["attnlab.masks", "attnlab.masks.causal"]
    assert names.find("attention(q)", names.names_of(sources)) is None
    assert names.find("m.causal(5) @ x", names.names_of(sources)) is None


def test_the_index_by_chapter_has_a_line_for_each_and_links_that_name_what_they_lead_to(book):
    entries = page(book, "chapters/api").select("article dl.simple > dt")
    assert [entry.get_text() for entry in entries] == [f"{one.label} {one.title}" for one in WRITTEN]
    for entry in entries:
        links = entry.find_next_sibling("dd").find_all("a")
        assert len(links) >= 5
        assert all(link["href"].endswith(f".{link.get_text()}") for link in links)
        shown = [link.get_text() for link in links]
        assert len(shown) == len(set(shown)), "two modules' functions under one name"


def rows(table):
    return [[cell.get_text().strip() for cell in row.find_all(["td", "th"])] for row in table.find_all("tr")]


def test_what_is_counted_is_what_there_is(book):
    how_we_test = page(book, "chapters/how_we_test")
    head, *body, total = rows(how_we_test.select_one("article .attn-counted"))
    assert head == ["page", "outputs", "not compared", "exercises", "mistakes with a name", "wrong answers"]
    notebooks = [name for name in toc_pages() if (ROOT / f"{name}.ipynb").exists()]
    links = how_we_test.select("article .attn-counted a")
    assert [link["href"] for link in links] == [f"{name.rpartition('/')[2]}.html" for name in notebooks]
    titles = {one.page: f"{one.label} {one.title}" for one in WRITTEN}
    for row, name in zip(body, notebooks, strict=True):
        assert row[0] == titles.get(name, page(book, name).find("h1").get_text().rstrip("#"))
        stored = nbformat.read(ROOT / f"{name}.ipynb", as_version=4).cells
        shown = [cell for cell in stored if cell.cell_type == "code" and cell.outputs]
        tagged = [cell for cell in shown if "nbval-ignore-output" in cell.metadata.get("tags", [])]
        named = {cell.metadata["exercise"] for cell in stored if "exercise" in cell.metadata}
        wrong = [one for one in answers.load() if one.exercise in named and one.status == "wrong"]
        assert row[1:4] == [str(len(shown)), str(len(tagged)), str(len(named))]
        assert row[5] == str(len(wrong))
        assert int(row[4]) >= len(named)
    assert total[1:] == [str(sum(int(row[at]) for row in body)) for at in range(1, 6)]
    # All exercises that there are, on whatever page.
    assert int(total[3]) == len(EXERCISES) + len(OTHERS)
    assert int(total[5]) == sum(one.status == "wrong" for one in answers.load())


def test_what_runs_is_counted_from_what_runs(book):
    text = " ".join(page(book, "chapters/how_we_test").find("article").get_text().split())
    run = (ROOT / "tests/mutants/run.py").read_text()
    mutants = len(re.findall(r"^    Mutant\(", run, re.MULTILINE))
    quick = len(re.findall(r'"', run.partition("QUICK = (")[2].partition("\n\n")[0])) // 2
    every = [
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert f"runs: {len(every):,} test functions" in text
    assert f"It knows {mutants:,} such ways" in text
    assert f"Each run of the suite tries {quick} of them" in text
    machines = (ROOT / ".github/workflows/test.yml").read_text().count("- { python:")
    assert f"the suite, on {machines} combinations" in text
    unit = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests/unit").glob("test_*.py"))
    on_treebank = len(re.findall(r"^def test_\w+\([^)]*\btreebank(?:_folder)?\b", unit, re.MULTILINE))
    assert f"{on_treebank} test functions that train or measure on it" in text
    found = counts.of_package(ROOT)
    assert 0 < found["quick"] < found["weights"] < found["aimed"] < found["tests"]
    # No workflow fetches the treebank, as the page says, and it names all that workflows do.
    flows = {path.name: path.read_text() for path in (ROOT / ".github/workflows").iterdir()}
    assert not [name for name, flow in flows.items() if "ATTNLAB_DATA" in flow or "EWT" in flow]
    told = {
        "bash .ci/run": "the suite, on",
        "make torches": "the lowest torch",
        "make mutants": "all mutants of the package",
        "make address": "another address",
        "make teacher": "a class’s folder",
        "insert-chapter": "with a new chapter put in",
        "elsewhere.py": "beside the packages that Colab brings",
        "repo2docker --": "the image that Binder builds",
    }
    for does, says in told.items():
        assert [name for name, flow in flows.items() if does in flow], does
        assert says in text, says
    asked = {one for flow in flows.values() for one in re.findall(r"\bmake [a-z]+", flow)}
    assert asked - told.keys() == {"make html"}


def test_what_a_test_needs_is_found_through_its_fixtures():
    known = {
        "test_a": {"treebank", "x"},
        "treebank": {"treebank_folder"},
        "treebank_folder": {"skip"},
        "test_b": {"encoder"},
        "encoder": {"loaded"},
        "loaded": {"load", "skip"},
        "test_c": {"x", "test_c"},
    }
    assert [counts._needs(name, known) for name in ("test_a", "test_b", "test_c")] == [
        "treebank",
        "weights",
        "",
    ]


def test_every_source_lists_the_sections_that_cite_it(book):
    entries = page(book, "chapters/references").select("article .citation")
    assert len(entries) == len(readers.sources_of(ROOT / "chapters/references.bib"))
    shown = Counter()
    for entry in entries:
        assert not entry.select(".label, .fn-bracket")
        for link in entry.select(".attn-used a"):
            name, _, anchor = link["href"].partition("#")
            place = page(book, f"chapters/{name.removesuffix('.html')}").find("article")
            if anchor:
                place = place.find(id=anchor)
                assert link.get_text() == place.find(re.compile("h[2-6]")).get_text().rstrip("#")
            # The section holds a link to this very entry.
            assert place.select(f"a[href='references.html#{entry['id']}']"), link
            shown[name, anchor] += 1
    # And each section that cites does so: as many links lead back as there are sources in it.
    for name in toc_pages():
        file = f"{name.rpartition('/')[2]}.html"
        cited = {}
        for link in page(book, name).select("article a[href*='references.html#']"):
            # What an exercise stands in is a section to the page, and none to the contents.
            section = link.find_parent("section", id=lambda name: name != "exercise-content")
            outer = section.find_parent("section")
            anchor = section["id"] if outer else ""
            cited.setdefault(anchor, set()).add(link["href"])
        for anchor, links in cited.items():
            if anchor:
                assert shown[file, anchor] == len(links), (name, anchor)


def test_code_to_take_along_is_signed_on_its_page(book):
    signed = 0
    for chapter in WRITTEN:
        for cell in page(book, chapter.page).select(".tag_take-it-with-you"):
            code = cell.select_one(".cell_input pre")
            assert code.get_text().startswith(licences.SIGNED)
            assert code.select_one(".c1"), "what is signed is still coloured"
            if fold := cell.select_one("details.hide > summary .collapsed"):
                assert fold.get_text() == f"The code, {len(code.get_text().splitlines())} lines"
            signed += 1
    assert signed > 10


@by_topic
def test_the_readers_edition_numbers_equations_and_exercises_as_the_book_does(book, chapter):
    article = page(book, chapter.page).find("article")
    numbers = readers.numbers_of(cells(chapter), chapter.number)
    shown = [re.search(r"\d+\.\d+", place.get_text())[0] for place in article.select("span.eqno")]
    assert shown == [number for label, number in numbers.items() if label.startswith("eq-")]
    titles = [title.get_text() for title in article.select("div.exercise > p.admonition-title")]
    assert [re.search(r"\d+\.\d+", title)[0] for title in titles] == [
        number for label, number in numbers.items() if label.startswith("ex-")
    ]


@by_topic
def test_who_opens_or_downloads_a_notebook_gets_the_readers_edition(book, chapter):
    name = chapter.page.rpartition("/")[2]
    places = [
        link["href"] for link in page(book, chapter.page).select("header a[href], .article-header-buttons a")
    ]
    launched = [place for place in places if "colab" in place or "mybinder" in place]
    assert len(launched) == (2 if set_address.is_set(ROOT) else 0)
    assert all(place.endswith(f"/notebooks/{name}.ipynb") for place in launched)
    (offered,) = {place for place in places if "_sources" in place}
    held = (book / "chapters" / offered).resolve()
    assert held.read_bytes() == (ROOT / f"notebooks/{name}.ipynb").read_bytes()
    # Whoever looks at the source or mends it wants the book's.
    assert not [place for place in places if "//github.com/" in place and "/notebooks/" in place]


@by_topic
def test_the_minutes_that_a_chapter_promises_are_those_of_its_exercises_and_stand_in_the_readme(chapter):
    source = "\n".join(cell.source for cell in cells(chapter))
    promised, more = counts.minutes(source)
    assert more == sum(int(found) for found in re.findall(r"of 5, about (\d+) minutes", source))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"/{chapter.page.rpartition('/')[2]}.ipynb) | {promised} |" in readme


def test_the_readme_promises_as_much_for_exercises_as_the_chapters_do():
    each = [counts.promised(ROOT / chapter.page)[1] for chapter in WRITTEN]
    each = [minutes for minutes in each if minutes]  # a new chapter may have none yet
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"the exercises take {min(each)} to {max(each)} more." in readme
