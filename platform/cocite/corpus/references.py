"""The forms in which papers are given as references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cocite.corpus import bibtex, csl_json, ris
from cocite.corpus.records import PaperRecord


@dataclass(frozen=True)
class ReferenceForm:
    """A form of references.

    Attributes:
        name: for people.
        media_type: of HTTP.
        write: the text of several papers; an entry's key is the same in every form.

    Example:
        >>> FORMS["ris"].name, FORMS["ris"].write([PaperRecord("x", "On BLEU")]).splitlines()[1]
        ('RIS', 'ID  - anonbleu')
    """

    name: str
    media_type: str
    write: Callable[[Sequence[PaperRecord]], str]


FORMS = {
    "bibtex": ReferenceForm("BibTeX", "text/plain", bibtex.entries),
    "ris": ReferenceForm("RIS", "application/x-research-info-systems", ris.entries),
    "csl-json": ReferenceForm("CSL-JSON", "application/vnd.citationstyles.csl+json", csl_json.entries),
}
"""Form, as the paths of the API name it -> what it is."""
