"""The records a corpus is made of, as importers yield them and as the store gives them back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import pyarrow as pa

TARGET_MARK = "TARGETCIT"
"""Where, in a context, the citation stood."""
OTHER_MARK = "OTHERCIT"
"""Where, in a context, another citation stood."""

ARXIV_DOI = "10.48550/arXiv."
"""What the DOI of a preprint on arXiv begins with; its arXiv number follows."""

SPLITS = ("", "train", "dev", "test")
"""Names of the int8 codes in the ``split`` column; 0 means that the source gave none."""


@dataclass(slots=True)
class PaperRecord:
    """A paper as a source describes it. ``citations`` are ids of papers of any source.

    Example:
        >>> from cocite.corpus.records import PaperRecord
        >>> PaperRecord("W2", "Attention Is All You Need", year=2017, citations=("W1",)).citations
        ('W1',)
    """

    id: str
    title: str
    abstract: str = ""
    year: int = 0
    """Year of publication; 0 when unknown."""
    venue: str = ""
    authors: tuple[str, ...] = ()
    keyphrases: tuple[str, ...] = ()
    doi: str = ""
    split: str = ""
    citations: tuple[str, ...] = ()


class NumberedId(str):
    """The id of a context to which the source gives none: its paper's, and its number among those contexts.

    Args:
        citing: id of the paper.
        number: 0 for the first.

    Example:
        >>> from cocite.corpus.records import NumberedId
        >>> id_ = NumberedId("W2", 7)
        >>> id_, id_.number
        ('W2/7', 7)
    """

    number: int

    def __new__(cls, citing: str, number: int) -> Self:
        """Make the text, and keep the number."""
        id_ = super().__new__(cls, f"{citing}/{number}")
        id_.number = number
        return id_


@dataclass(slots=True)
class ContextRecord:
    """A group of citations at one position of a text, with the text around it.

    Example:
        >>> from cocite.corpus.records import ContextRecord
        >>> context = ContextRecord("W2/0", "W2", ("W1",), "Recurrent networks TARGETCIT are slow, unlike OTHERCIT.")
        >>> context.citing, context.cited
        ('W2', ('W1',))
    """

    id: str
    citing: str
    cited: tuple[str, ...]
    text: str
    """About 200 characters each side of ``TARGETCIT``; other citations read ``OTHERCIT``."""
    sentence: int = -1
    """Position of the sentence in the citing paper's body; -1 when unknown."""
    section: str = ""
    group: int = -1
    """Number of the citation group, as ``[[CIT:k]]`` in the body names it."""
    unresolved: int = 0
    """How many members of the group are not in the corpus."""


@dataclass(slots=True)
class SentenceRecord:
    """A sentence of a paper's body.

    Example:
        >>> from cocite.corpus.records import SentenceRecord
        >>> SentenceRecord("W2", 7, "Recurrent networks [[CIT:0]] are slow.", "Introduction").position
        7
    """

    paper: str
    position: int
    text: str
    section: str = ""


@dataclass(slots=True)
class CitationRecord:
    """A link that the source gives apart from the papers.

    Example:
        >>> from cocite.corpus.records import CitationRecord
        >>> CitationRecord(citing="W2", cited="W1")
        CitationRecord(citing='W2', cited='W1')
    """

    citing: str
    cited: str


@dataclass(slots=True)
class Malformed:
    """A part of a source that is no record, or breaks a rule by itself.

    Example:
        >>> from cocite.corpus.records import Malformed
        >>> Malformed("year must be a whole number, not 'soon'", field="year").rule
        'malformed'
    """

    reason: str
    field: str = ""
    rule: str = "malformed"
    """The rule it breaks, one of ``cocite.corpus.rules.RULES``."""
    excerpt: str = ""
    count: int = 1
    """How many hits of the rule it stands for."""


@dataclass(slots=True)
class UnknownFields:
    """Fields of a record that cocite's own formats do not have.

    Example:
        >>> from cocite.corpus.records import UnknownFields
        >>> UnknownFields("paper", ("refs", "contexts.colour")).names
        ('refs', 'contexts.colour')
    """

    kind: str
    """One of ``cocite.corpus.fields.RECORDS``."""
    names: tuple[str, ...]
    """Within a nested object with its path, as ``contexts.refs``."""
    count: int = 1
    """How many records have them."""


Record = PaperRecord | ContextRecord | SentenceRecord | CitationRecord | Malformed | UnknownFields
"""What an importer yields, in any order."""

PAPERS = pa.schema(
    [
        ("id", pa.string()),
        ("title", pa.string()),
        ("abstract", pa.string()),
        ("year", pa.int16()),
        ("venue", pa.string()),
        ("authors", pa.list_(pa.string())),
        ("keyphrases", pa.list_(pa.string())),
        ("doi", pa.string()),
        ("split", pa.int8()),
    ]
)

CONTEXTS = pa.schema(
    [
        ("id", pa.string()),
        ("citing", pa.int32()),
        ("cited", pa.list_(pa.int32())),
        ("text", pa.string()),
        ("sentence", pa.int32()),
        ("section", pa.string()),
        ("group", pa.int32()),
        ("unresolved", pa.int32()),
    ]
)

SENTENCES = pa.schema([("position", pa.int32()), ("section", pa.string()), ("text", pa.string())])
