"""The book's search: what readers ask leads to the chapter that answers it."""

import hashlib
import json
import re

import pytest

from .conftest import ROOT, chapters, page_of

ASKED = {
    "why divide by sqrt d": ["scaling"],
    "√d": ["scaling"],
    "mask": ["masking"],
    "causal mask": ["masking"],
    "softmax": ["softmax_saturation", "relevance_and_averaging"],
    "GQA": ["multi_head", "decoding"],
    "attention sink": ["todays_models", "real_model", "sparse_attention"],
    "KV cache": ["decoding"],
    "rotary embedding RoPE": ["positional_encoding"],
    "Bahdanau": ["before_transformers"],
    "layer norm": ["transformer"],
    "how do I sample with top-p": ["decoding"],
    "permutation equivariant": ["positional_encoding"],
    "linear attention": ["linear_attention"],
}
"""Questions, and the chapters of which one should be among the first three places."""
PLACES = """() => [...document.querySelectorAll("#search-results li")].map((item) => ({
  page: item.querySelector("a").getAttribute("href").split("#")[0],
  marked: [...item.querySelectorAll("mark")].map((mark) => mark.textContent), text: item.innerText }))"""


def sections(book):
    text = (book / "_static/search-sections.js").read_text(encoding="utf-8")
    return json.loads(text.removeprefix("globalThis.attnlabSections=").removesuffix(";\n"))


def test_what_readers_ask_leads_to_the_chapter_that_answers(site):
    page = site.open("search")
    field = page.locator("#attn-search input")
    assert field.evaluate("(field) => field === document.activeElement")
    missed = {}
    for question, topics in ASKED.items():
        field.fill(question)
        found = page.evaluate(PLACES)
        if not {f"{page_of(topic)}.html" for topic in topics} & {place["page"] for place in found[:3]}:
            missed[question] = [place["text"][:80] for place in found[:3]]
    assert missed == {}


def test_excerpts_are_prose_with_the_words_marked(site):
    page = site.open("search", query="?q=saturated")
    assert page.locator("#attn-search input").input_value() == "saturated"
    found = page.evaluate(PLACES)
    assert len(found) > 3
    marked = {word.lower() for place in found for word in place["marked"]}
    assert "saturated" in marked
    assert marked <= {"saturated", "saturates", "saturate", "saturating"}
    pages = [place["page"] for place in found]
    assert max(map(pages.count, pages)) <= 4 < len(pages)
    assert not any(sign in place["text"] for place in found for sign in ("\\", "$", "{", "Launch", "Colab"))
    page.locator("#attn-search input").fill("")
    assert page.evaluate(PLACES) == []
    page.locator("#attn-search input").fill("zebrafish xylophone")
    assert page.locator("#attn-search [role=status]").inner_text().startswith("Nothing in the book fits")


def test_a_place_that_is_found_is_there(site, book):
    page = site.open("search", query="?q=residual%20stream")
    first = page.locator("#search-results a").first
    wanted = first.inner_text().partition(" › ")[2] or first.inner_text()
    first.click()
    page.wait_for_load_state()
    anchor = page.url.partition("#")[2]
    heading = page.locator(f'[id="{anchor}"] :is(h1, h2, h3)' if anchor else "article h1").first
    assert wanted in heading.inner_text()


def test_it_searches_from_the_disk(site, book):
    page = site.open("search", query="?q=masking", address=book.as_uri())
    assert page.locator("#search-results a").first.get_attribute("href").startswith(page_of("masking"))


def test_the_sign_hides_no_letter(site):
    page = site.open(page_of("masking"))
    page.keyboard.press("Control+k")
    field = page.locator("dialog input[type=search]")
    field.wait_for()
    sign, box = page.locator("dialog form.bd-search > i").bounding_box(), field.bounding_box()
    inside = field.evaluate("(field) => parseFloat(getComputedStyle(field).paddingLeft)")
    assert sign["x"] + sign["width"] <= box["x"] + inside
    field.fill("softmax")
    field.press("Enter")
    page.wait_for_url("**/search.html?q=softmax")
    assert page.locator("#search-results a").count() > 3


def test_every_chapter_can_be_found_by_section_and_no_code_is_among_the_prose(book):
    found = sections(book)
    assert len({one["at"] for one in found}) == len(found)
    for chapter in chapters.read(ROOT):
        own = [one for one in found if one["at"].startswith(f"{chapter.page}.html")]
        assert own[0]["title"] == own[0]["page"] == f"{chapter.label} {chapter.title}"
        assert {one["kind"] for one in own} == {"chapter"}
        assert len(own) > 8
        prose = " ".join(one["text"] for one in own)
        assert len(prose) > 8_000
        assert "import torch" not in prose
        assert "Launch" not in prose


@pytest.mark.parametrize("name", ["search-sections.js", "search.js"])
def test_its_data_is_loaded_by_the_search_alone(site, book, name):
    assert name not in (book / f"{page_of('masking')}.html").read_text(encoding="utf-8")
    # Named by its content: no cache gives an older one.
    (version,) = re.findall(rf'_static/{name}\?v=(\w+)"', (book / "search.html").read_text(encoding="utf-8"))
    assert hashlib.sha256((book / "_static" / name).read_bytes()).hexdigest().startswith(version)
    assert len(version) == 8
    assert (book / "_static" / name).stat().st_size < 1_000_000
