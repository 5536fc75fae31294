"""The forms in which papers are given as references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cocite.corpus import bibtex, csl_json, ris
from cocite.corpus.bibtex import KeyForm, citation_keys
from cocite.corpus.records import PaperRecord


@dataclass(frozen=True)
class ReferenceForm:
    """A form of references.

    Attributes:
        name: for people.
        media_type: of HTTP.
        write: the text of several papers with their keys.

    Example:
        >>> FORMS["ris"].name, FORMS["ris"].text([PaperRecord("x", "On BLEU")]).splitlines()[1]
        ('RIS', 'ID  - anonbleu')
    """

    name: str
    media_type: str
    write: Callable[[Sequence[PaperRecord], Sequence[str]], str]

    def text(self, papers: Sequence[PaperRecord], keys_as: KeyForm = "cocite") -> str:
        """The text of several papers; the key of each is the same in every form of references.

        Args:
            papers: to write.
            keys_as: form of the keys, see :func:`~cocite.corpus.bibtex.citation_keys`.
        """
        return self.write(papers, citation_keys(papers, form=keys_as))


FORMS = {
    "bibtex": ReferenceForm("BibTeX", "text/plain", bibtex.entries),
    "ris": ReferenceForm("RIS", "application/x-research-info-systems", ris.entries),
    "csl-json": ReferenceForm("CSL-JSON", "application/vnd.citationstyles.csl+json", csl_json.entries),
}
"""Form, as the paths of the API name it -> what it is."""
