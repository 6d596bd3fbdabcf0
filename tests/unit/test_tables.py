"""Tables in a page: real ones, and their text."""

import pytest

from attnbook import tables
from attnbook.tables import Table


def test_every_cell_is_text_named_by_its_row_and_column():
    page = Table(["layer", "cost <n>"], [["a & b", "1"], ["c", "22"]], about='what "it" tells')._repr_html_()
    assert page.count('<th scope="col"') == 2
    assert page.count('<th scope="row">') == 2
    assert "a &amp; b" in page
    assert "cost &lt;n&gt;" in page
    assert 'aria-label="what &quot;it&quot; tells"' in page
    assert 'tabindex="0"' in page  # what scrolls must be reached by keys
    assert page.count('class="num"') == 3  # numbers line up, names do not
    assert '<th scope="col">layer' in page


def test_its_text_lines_up():
    assert (
        repr(Table(["n", "cost"], [["1", "2.5"], ["100", "25"]], about="x"))
        == "n    cost\n1     2.5\n100    25"
    )


@pytest.mark.parametrize(
    ("rows", "about", "message"),
    [([[1, 2]], " ", "about must say in words"), ([[1, 2], [1]], "x", r"a row must have 2 cells, .* got 1")],
)
def test_what_does_not_fit_is_refused(rows, about, message):
    with pytest.raises(ValueError, match=message):
        tables.show(["a", "b"], rows, about=about)
