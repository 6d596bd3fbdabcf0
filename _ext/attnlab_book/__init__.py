"""What Jupyter Book and its theme leave open: a book that loads nothing from outside and that axe accepts.

`assets` copies the scripts that pages load, `licences` the licences of what others made; `pages` mends what
is put into each page; `bundle` gives them one style sheet; `fonts` cuts their fonts, `formulas` sets
formulas; `numbering` takes the numbers of chapters from their file names, read by `chapters`; `terms` ties
chapters to the glossary, `sources` to the bibliography, `names` to the package's reference; `counts` says
what is in a chapter and how it is tested, `lessons` how long it takes a class; `readers` hands out its plain
notebook; `cards` and `drawings` make the landing page's cards, `share` says what a link to a page shows,
`playground` links to its figure in a state, `fields` writes what a configuration's fields mean, and `search`
what is searched through, with `synonyms` for what readers call things.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the parts to Sphinx's events."""
    # Here, because scripts import `chapters` alone: the others load Sphinx, and the package with torch.
    from attnlab_book import (
        assets,
        bundle,
        cards,
        counts,
        fields,
        fonts,
        formulas,
        licences,
        names,
        numbering,
        pages,
        playground,
        readers,
        search,
        share,
        sources,
        terms,
    )

    app.add_node(numbering.ChapterMention, html=(numbering.write_mention, None))
    for role in numbering.ROLES:
        app.add_role(role, numbering.mention_role)
    app.connect("config-inited", pages.set_theme_options)
    app.connect("builder-inited", assets.copy)
    app.connect("builder-inited", licences.copy)
    app.connect("builder-inited", numbering.read_chapters)
    app.connect("builder-inited", terms.load)
    app.add_transform(terms.LinkFirstUse)
    app.add_node(names.NamesByChapter)
    app.add_directive("names-by-chapter", names.NamesByChapterDirective)
    app.add_directive("chapter-cards", cards.ChapterCards)
    app.add_directive("chapter-paths", cards.ChapterPaths)
    app.add_directive("chapter-path", cards.ChapterPath)
    app.add_directive("chapter-start", cards.ChapterStart)
    app.add_directive("counted", counts.Counted)
    app.add_directive("licences", licences.Licences)
    app.add_html_math_renderer("mathml", (formulas.visit_inline, None), (formulas.visit_display, None))
    app.add_role("counted", counts.package_role)
    for name in playground.PAGES:
        app.add_role(name, playground.role)
    # After it is known what the bibliography lists.
    app.connect("env-updated", search.write, priority=900)
    # After Sphinx has given its own numbers.
    app.connect("env-get-updated", numbering.number_by_file_name, priority=900)
    app.connect("env-get-updated", terms.rewrite_glossary)
    app.connect("env-get-updated", sources.rewrite_bibliography)
    app.connect("doctree-resolved", numbering.link_mentions)
    app.connect("doctree-resolved", terms.say_where_terms_are_used)
    app.connect("doctree-resolved", terms.explain_links)
    app.connect("doctree-resolved", sources.say_where_sources_are_cited)
    app.connect("doctree-resolved", licences.sign_code)
    app.connect("doctree-resolved", names.link_mentions)
    app.connect("doctree-resolved", names.fill_index)
    app.connect("doctree-resolved", pages.drop_thebe_nodes, priority=900)
    app.connect("doctree-resolved", pages.arrange_cells)
    app.connect("doctree-resolved", pages.name_first_figure)
    app.connect("doctree-resolved", pages.mark_short_answers)
    # Before napoleon reads the docstring.
    app.connect("autodoc-process-docstring", pages.guard_returns, priority=400)
    app.connect("autodoc-process-docstring", pages.keep_bars, priority=401)
    app.connect("html-page-context", names.link_cells)
    # After every other extension has put its scripts into the page.
    app.connect("html-page-context", pages.mend_context, priority=900)
    # Behind it: a picture's shapes are no letters of the first screen, which it counts.
    app.connect("html-page-context", numbering.name_part, priority=950)
    app.connect("html-page-context", share.add_tags)
    app.connect("html-page-context", readers.launch_edition, priority=900)
    app.connect("build-finished", pages.write_root_page)
    app.connect("build-finished", readers.offer_edition)
    app.connect("build-finished", fields.write)
    app.connect("build-finished", fonts.write)
    # When all pages and scripts are written.
    app.connect("build-finished", bundle.write, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
