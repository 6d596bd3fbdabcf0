"""What a mention of a chapter says and links to; the numbers come from file names."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "_ext"))

from attnlab_book import chapters

SENSES = [
    chapters.Chapter("sound", "Sound", "chapters/06_sound", 6),
    chapters.Chapter("sight", "Sight", "chapters/12_sight", 12),
    chapters.Chapter("smell_and_taste", "Smell", "chapters/later"),
]


@pytest.mark.parametrize(
    ("role", "names", "expected"),
    [
        ("chapter", "sound", "chapter~06"),
        ("Chapter", "sound", "Chapter~06"),
        ("chapter", "sound, sight", "chapters~06 and 12"),
        ("Chapter", "sound,sight , smell_and_taste", "Chapters~06, 12 and the coming chapter~“Smell”"),
        ("chapter", "smell", "the coming chapter~“Smell”"),
        ("Chapter", "smell", "The coming chapter~“Smell”"),
        ("chapter-title", "sight", "12 Sight"),
        ("chapter-title", "smell", "Smell"),
    ],
)
def test_what_a_mention_says(role, names, expected):
    pieces = chapters.resolve(SENSES, role, names)
    assert "".join(text for text, _ in pieces).replace("\xa0", "~") == expected
    assert [one.topic for _, one in pieces if one] == [
        chapters.find(SENSES, name.strip()).topic for name in names.split(",")
    ]


@pytest.mark.parametrize("names", ["", "hearing", "s", "sound,", "Sound", "6", "06"])
def test_a_mention_of_no_chapter_or_of_several_is_refused(names):
    with pytest.raises(chapters.UnknownChapterError, match=r"is no topic of a chapter|several topics"):
        chapters.resolve(SENSES, "chapter", names)


def test_chapters_are_read_from_file_names_and_promises_from_their_page(tmp_path):
    pages = tmp_path / "chapters"
    pages.mkdir()
    (tmp_path / "_toc.yml").write_text(
        "root: chapters/index\nparts:\n"
        "  - caption: 'Part I: Near'\n"
        "    chapters: [{file: chapters/03_sound}, {file: chapters/the_machine}]\n"
        "  - caption: Back\n    chapters: [{file: chapters/notes}]\n"
    )
    heading = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["# no"]},
        {"cell_type": "markdown", "metadata": {}, "source": ["# So", "und\n"]},
    ]
    (pages / "03_sound.ipynb").write_text(json.dumps({"cells": heading}))
    (pages / "the_machine.md").write_text(
        "# Later\n\n(chapter-smell_and_taste)=\n## Smell\n\nText.\n\n(chapter-sound)=\n## Sound again\n"
    )
    (pages / "notes.md").write_text("# Notes\n")
    sound, smell = chapters.read(tmp_path)
    assert sound == chapters.Chapter("sound", "Sound", "chapters/03_sound", 3, "Part I: Near")
    assert (sound.label, sound.anchor) == ("03", "")
    assert smell == chapters.Chapter("smell_and_taste", "Smell", chapters.COMING, None, "Part I: Near")
    assert (smell.label, smell.anchor) == ("", "#chapter-smell-and-taste")
