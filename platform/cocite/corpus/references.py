"""The forms in which papers are given as references."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cocite.corpus import bibtex, csl_json, ris
from cocite.corpus.bibtex import citation_keys
from cocite.corpus.records import PaperRecord
from cocite.errors import InputError


@dataclass(frozen=True)
class ReferenceForm:
    """A form of references.

    Attributes:
        name: for people.
        media_type: of HTTP.
        suffix: of files.
        write: the text of several papers with their keys.

    Example:
        >>> FORMS["ris"].name, FORMS["ris"].text([PaperRecord("x", "On BLEU")]).splitlines()[1]
        ('RIS', 'ID  - anonbleu')
    """

    name: str
    media_type: str
    suffix: str
    write: Callable[[Sequence[PaperRecord], Sequence[str]], str]

    def text(self, papers: Sequence[PaperRecord], keys_as: str = "cocite", taken: Iterable[str] = ()) -> str:
        """The text of several papers; the key of each is the same in every form of references.

        Args:
            papers: to write.
            keys_as: form of the keys, see :func:`~cocite.corpus.bibtex.citation_keys`.
            taken: keys that stand for other papers.
        """
        return self.write(papers, citation_keys(papers, taken, keys_as))


FORMS = {
    "bibtex": ReferenceForm("BibTeX", "text/plain", ".bib", bibtex.entries),
    "ris": ReferenceForm("RIS", "application/x-research-info-systems", ".ris", ris.entries),
    "csl-json": ReferenceForm(
        "CSL-JSON", "application/vnd.citationstyles.csl+json", ".json", csl_json.entries
    ),
}
"""Form, as the paths of the API name it -> what it is."""


def form_of(path: Path) -> ReferenceForm:
    """The form of a file of references, by the end of its name.

    Raises:
        InputError: it is none of the forms.

    Example:
        >>> form_of(Path("new.ris")).name
        'RIS'
    """
    for form in FORMS.values():
        if path.suffix.lower() == form.suffix:
            return form
    known = ", ".join(f"{form.suffix} ({form.name})" for form in FORMS.values())
    raise InputError(
        "is no file of references by its name", where=str(path), hint=f"end it with one of {known}"
    )
