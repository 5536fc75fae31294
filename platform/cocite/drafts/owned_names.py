"""Which of a few papers an author has, by the ids and DOIs of all that are owned: no corpus is searched for them."""

from __future__ import annotations

from collections.abc import Iterable

from cocite.corpus.arxiv import preprint_of
from cocite.corpus.records import PaperRecord
from cocite.drafts.paper_ids import ACL_DOI, CORPUS_ID, paper_of_id


class OwnedNames:
    """The papers that an author has, by their names.

    Args:
        ids: an id of the corpus, a DOI, an arXiv number, an id of the ACL Anthology or of Semantic Scholar each, with
            or without its address, as in a list of ``cocite recommend --have``.

    Example:
        >>> owned = OwnedNames(["https://doi.org/10.1000/182", "arXiv:1706.03762"])
        >>> paper = PaperRecord("W1", "Attention", doi="10.48550/arXiv.1706.03762")
        >>> owned.has(paper), owned.has(PaperRecord("W2", "Trees", doi="10.1000/1"))
        (True, False)
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self._names: set[str] = set()
        for text in ids:
            if words := " ".join(text.split()):  # a pattern may take long on a text of several lines
                self._names |= _names_of_owned(paper_of_id(words))

    def has(self, paper: PaperRecord) -> bool:
        """Whether a paper of the corpus is among them; titles do not count."""
        return not self._names.isdisjoint(_names(paper))


def _names(paper: PaperRecord) -> set[str]:
    names = {f"id {paper.id}"}
    if paper.doi:
        names.add(f"doi {paper.doi.lower()}")
    if match := CORPUS_ID.match(paper.id):
        names.add(f"s2 {match['number']}")
    preprint = preprint_of(paper)
    if preprint is not None:
        names.add(f"arxiv {preprint.number.lower()}")
    return names


def _names_of_owned(paper: PaperRecord) -> set[str]:
    """Those of a record that was made of an id, and the names that a corpus may have for it."""
    names = _names(paper)
    if match := ACL_DOI.match(paper.doi):
        names.add(f"id {match['id']}")
    if not paper.doi:
        names |= {f"doi 10.18653/v1/{paper.id}".lower(), f"s2 {paper.id}"}
    return names
