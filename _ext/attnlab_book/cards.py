"""The landing page's chapters as cards, and its ways through the book, with minutes that are counted.

The source of the cards is a plain table, so that it is read as one where this extension is not.

>>> rows("| chapter | the question | after |\\n| --- | --- | --- |\\n"
...      "| {chapter-title}`sound` | What is heard? | {chapter}`air` |")
[('sound', 'What is heard?', '{chapter}`air`')]
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from attnlab_book import chapters, counts, drawings

ROW = re.compile(r"^\| \{chapter-title\}`(\w+)` \| (.+?) \| (.*?) ?\|$", re.MULTILINE)


def rows(table: str) -> list[tuple[str, str, str]]:
    """Read topic, question and what should be read before from each row of a table."""
    return [(topic, question, after.strip()) for topic, question, after in ROW.findall(table)]


class _Counting(SphinxDirective):
    """What both kinds of cards count in the chapters."""

    def minutes(self, topics: list[str], exercises: bool = False) -> int:
        """Add up the minutes that the openers of some chapters promise."""
        return sum(sum(self._promised(topic)[: 1 + exercises]) for topic in topics)

    def _promised(self, topic: str) -> tuple[int, int]:
        chapter = chapters.find(self.env.attnlab_chapters, topic)
        page = Path(self.env.srcdir, chapter.page)
        self.env.note_dependency(str(page.with_suffix(".ipynb")))
        return counts.promised(page)

    def paragraph(self, text: str, name: str) -> list[nodes.Node]:
        """Parse a line into a paragraph with a class of its own."""
        found = self.parse_text_to_nodes(text)
        for node in found:
            node["classes"].append(name)  # type: ignore[index]
        return found


class ChapterCards(_Counting):
    """``{chapter-cards}``: a table of chapters and their questions becomes a list of cards."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Make a card of each row."""
        found = nodes.bullet_list(classes=["attn-cards"])
        for topic, question, after in rows("\n".join(self.content)):
            chapter = chapters.find(self.env.attnlab_chapters, topic)
            count = counts.of_chapter(Path(self.env.srcdir), chapter)
            facts = [f"{self.minutes([topic])} minutes", f"{len(count.exercises)} exercises"]
            facts += [f"after {after}"] if after else []
            found += nodes.list_item(
                "",
                nodes.raw("", drawings.drawing(topic), format="html"),
                *self.paragraph(f"{{chapter-title}}`{topic}`", "attn-card-title"),
                *self.paragraph(question, "attn-card-question"),
                *self.paragraph(" · ".join(facts), "attn-card-facts"),
                classes=["attn-card"],
            )
        return [found]


class ChapterPaths(SphinxDirective):
    """``{chapter-paths}``: the ways through the book, or what else is one of a few, side by side."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Put them into one row."""
        return [nodes.container("", *self.parse_content_to_nodes(), classes=["attn-paths"])]


class ChapterPath(_Counting):
    """``{chapter-path} title``: a way, and what it takes where it leads through chapters."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"topics": directives.unchanged, "exercises": directives.flag}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Say what the way holds, and below it how long it takes."""
        found = nodes.container(
            "",
            *self.paragraph(f"**{self.arguments[0]}**", "attn-path-title"),
            *self.parse_text_to_nodes("\n".join(self.content)),
            classes=["attn-path"],
        )
        topics = [topic.strip() for topic in self.options.get("topics", "").split(",") if topic]
        if topics == ["all"]:
            topics = [chapter.topic for chapter in self.env.attnlab_chapters if chapter.number is not None]
        if topics:
            minutes = self.minutes(topics, "exercises" in self.options)
            work = "with their exercises" if "exercises" in self.options else "to read"
            found += self.paragraph(f"{len(topics)} chapters {work}: {spoken(minutes)}.", "attn-card-facts")
        return [found]


class ChapterStart(_Counting):
    """``{chapter-start} topic``: the button of its text's link, beside it a chapter and its minutes."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make the button."""
        chapter = chapters.find(self.env.attnlab_chapters, self.arguments[0])
        text = f"chapter {chapter.label}: {self.minutes([chapter.topic])} minutes"
        address = self.env.app.builder.get_relative_uri(self.env.docname, chapter.page)
        (button,) = self.paragraph("\n".join(self.content), "attn-start")
        link = nodes.reference("", text, internal=True, refuri=address)
        button += [nodes.Text(" or start with "), link]
        return [button]


def spoken(minutes: int) -> str:
    """Say how long something takes, to the nearest that one would plan with.

    >>> spoken(95), spoken(690), spoken(61)
    ('an hour and a half', '11 and a half hours', 'an hour')
    """
    halves = round(minutes / 30)
    hours = halves // 2
    if halves <= 1:
        return f"{minutes} minutes"
    if halves <= 3:
        return "an hour and a half" if halves % 2 else "an hour"
    return f"{hours} and a half hours" if halves % 2 else f"{hours} hours"
