"""Printed lists of references."""

from __future__ import annotations

import pytest

from cocite.corpus.records import PaperRecord
from cocite.corpus.starter import starter_corpus
from cocite.drafts.bibliography import Bibliography
from cocite.drafts.reading import open_files, read_text
from cocite.drafts.reference_list import printed_rows, with_references

LIST = """[1] Vaswani, A., Shazeer, N.: Attention is all you need. In: NeurIPS, pp. 5998-6008 (2017)
[2] J. Devlin, M.-W. Chang. 2019. BERT: Pre-training of Deep Bidirectional
Transformers for Language Understanding. NAACL.
[3] L. van der Maaten, “Visualizing data using t-SNE,” JMLR, 2008.
[4] Nobody, N. A paper of another field. 2001.
"""


def ids(text: str) -> list[str]:
    return starter_corpus().ids(printed_rows(text, starter_corpus()))


def test_references_in_several_styles() -> None:
    assert ids(LIST) == ["vaswani2017attention", "devlin2019bert", "vandermaaten2008visualizing"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("We compare random forests. They are trees.", []),
        ("Breiman, L.: Random Forests. Machine Learning 45", ["breiman2001random"]),
        ("Random Forests. 2001.", ["breiman2001random"]),
        ("Random Forests. 1999. Somebody else.", []),
        ("", []),
        (". , : ;" * 1_000, []),
    ],
)
def test_a_title_needs_an_author_or_a_year_beside_it(text: str, found: list[str]) -> None:
    assert ids(text) == found


def test_the_list_is_taken_out_of_the_text() -> None:
    text = f"We parse [CIT].\n\nReferences\n\n{LIST}\n\nAppendix A\n\nMore words [?].\n"
    draft = read_text(text, "text")
    assert draft.references.startswith("[1] Vaswani")
    assert [sentence.text for sentence in draft.sentences] == ["We parse [CIT].", "More words [CIT]."]
    read, bibliography = with_references(draft, Bibliography({}, {}), starter_corpus())
    assert [one.key for one in read.citations] == ids(LIST)
    assert list(bibliography.cited_rows(read).values()) == printed_rows(LIST, starter_corpus())
    assert with_references(read, bibliography, starter_corpus()) == (read, bibliography)


def test_a_heading_without_a_list_and_a_list_with_a_gap() -> None:
    assert read_text("We [CIT].\n\nReferences", "text").references == ""
    draft = read_text("We [CIT].\n\nReferences\n\n[1] Lee 1999.\n\n[2] [CIT]", "text")
    assert (draft.references, len(draft.gaps)) == ("[1] Lee 1999.", 2)
    # Drafts with keys name what they cite.
    assert read_text("We [CIT].\n\n# References\n\nLee 1999.", "markdown").references == ""


def test_the_references_of_latex_are_found_under_their_keys() -> None:
    items = [
        r"\bibitem{att} Vaswani et al. Attention is all you need. 2017.",
        # A title within another's venue is shorter, and a DOI counts more than any title.
        r"\bibitem{breiman} L. Breiman. Random forests. A survey of attention is all you need. Vaswani 2001.",
        r"\bibitem{other} N. Nobody. A paper of another field. 2001.",
        r"\bibitem{own} Vaswani et al. Attention is all you need. 2017.",
    ]
    listed = "\n".join(items)
    text = rf"\cite{{other}} [CIT]. \begin{{thebibliography}}{{9}}{listed}\end{{thebibliography}}"
    own = Bibliography({"own": PaperRecord("own", "A book")}, {})
    draft, found = with_references(read_text(text, "latex"), own, starter_corpus())
    assert [one.key for one in draft.citations] == ["other", "att", "breiman"]
    rows = found.cited_rows(draft)
    assert starter_corpus().ids([*rows.values()])[0] == "vaswani2017attention"
    assert "other" not in rows
    assert found.entries["other"].title == "N. Nobody. A paper of another field. 2001."
    assert found.entries["own"].title == "A book"
    assert (draft.cites, draft.bibitems) == (True, {})


def test_entries_of_biblatex_come_behind_those_of_a_bib_file() -> None:
    titles = {"att": "Attention is all you need", "own": "Random forests"}
    bbl = "".join(
        rf"\entry{{{key}}}{{misc}}{{}} \field{{title}}{{{title}}} \field{{year}}{{2017}} \endentry"
        for key, title in titles.items()
    )
    text = rb"\documentclass{article}\addbibresource{gone.bib}\cite{att,own} [CIT]."
    draft = open_files({"paper.tex": text, "paper.bbl": bbl.encode()}).draft
    own = Bibliography({"own": PaperRecord("own", "A book")}, {})
    read, found = with_references(draft, own, starter_corpus())
    assert starter_corpus().ids([*found.cited_rows(read).values()]) == ["vaswani2017attention"]
    assert found.entries["own"].title == "A book"
    assert read.entries == ()
