"""References found among the papers of a folder."""

from __future__ import annotations

import pytest

from cocite.corpus.importers.named_papers import Named, NamedPapers, linked
from cocite.corpus.records import Malformed, PaperRecord


def papers(**options: bool) -> NamedPapers:
    found = NamedPapers(**options)
    found.add("a", Named("10.1/a", "1001.0001", "Über BERT: a study"))
    found.add("b", Named("10.1/b", "1001.0001", "One title"))
    found.add("c", Named("10.1/a", "", "one - title!"))
    found.add("d", Named("", "", "Editorial"))
    found.add("e", Named("", "", "Pre-training of trees"))
    return found


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        (Named("10.1/a", "", ""), "a"),
        (Named("10.1/b", "1001.0001", "Uber BERT a study"), "b"),
        (Named("10.9/x", "1001.0001", ""), "a"),
        (Named("10.9/x", "", "uber bert - a study"), "a"),
        (Named("", "", "One title"), ""),
        (Named("", "", "Editorial"), ""),
        (Named("", "", "Pretraining of trees"), ""),
        (Named("", "", ""), ""),
    ],
)
def test_the_doi_the_number_and_the_title(name: Named, id_: str) -> None:
    assert papers().find([name]) == [id_]


def test_titles_by_their_letters() -> None:
    found = papers(by_letters=True)
    names = (
        "Pretraining of trees",
        "Pre- training of tr ees",
        "Editorial",
        "One title",
        "Preteaching of trees",
    )
    assert found.find([Named("", "", name) for name in names]) == ["e", "e", "", "", ""]


def test_a_paper_with_its_links() -> None:
    paper, report = linked(PaperRecord("p", "P"), ["a", "", "b", ""], "refs")
    assert paper == PaperRecord("p", "P", citations=("a", "b"))
    reason = "2 of 4 references of p are no papers of the folder"
    assert report == Malformed(reason, "refs", "unmatched_citation", count=2)
    assert list(linked(PaperRecord("p", "P"), ["a"], "refs")) == [PaperRecord("p", "P", citations=("a",))]
