"""A draft as all readers give it: its texts, what it cites, and the gaps where a citation is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal

from cocite.corpus.records import PaperRecord

Kind = Literal["latex", "markdown", "text", "docx", "pdf"]
"""The form of a draft."""
GapForm = Literal["keys", "whole", "after"]
"""How a citation is put into a gap: ``keys``: among the keys of the citation that stands there; ``whole``: in place
of the gap; ``after``: behind it, because it prints other text too."""
_UNITS = {".docx": "paragraph", ".pdf": "page"}
"""What is counted in files that have no lines."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in the source.

    Attributes:
        file: name of the file, relative to the draft's folder; "" for a text without a file.
        line: from 1; of a .docx file the paragraph, of a .pdf file the page.
        start, end: characters of the file's text, from 0; of a .docx file that of its paragraphs and notes, with one
            character between them.

    Example:
        >>> str(Place("intro.tex", 12, 300, 308)), str(Place("paper.pdf", 2, 0, 5))
        ('intro.tex:12', 'paper.pdf, page 2')
    """

    file: str
    line: int
    start: int
    end: int

    def __str__(self) -> str:
        unit = _UNITS.get(PurePath(self.file).suffix.lower())
        if unit is not None:
            return f"{self.file}, {unit} {self.line}"
        return f"{self.file}:{self.line}" if self.file else f"line {self.line}"


@dataclass(frozen=True, slots=True)
class Gap:
    """A missing citation.

    Attributes:
        place: what a citation replaces.
        form: how it does.
        kept: keys of papers that are cited at the same place already.
        section: position in :attr:`Draft.sections`; -1: before the first.
        sentence: its sentence, with gaps as ``[CIT]`` and citations as ``[OTHERCIT]``.
        context: the text around it as a query has it: ``TARGETCIT`` the gap, ``OTHERCIT`` others.

    Example:
        >>> from cocite.drafts.reading import read_text
        >>> gap, = read_text("Attention helps [CIT].", "text").gaps
        >>> gap.context, gap.place.line
        ('Attention helps TARGETCIT.', 1)
    """

    place: Place
    form: GapForm
    kept: tuple[str, ...]
    section: int
    sentence: str
    context: str

    @property
    def has_words(self) -> bool:
        """Whether the context says anything about the missing paper."""
        return any(c.isalnum() for c in self.context.replace("TARGETCIT", "").replace("OTHERCIT", ""))


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation that the draft has.

    Example:
        >>> from cocite.drafts.reading import read_text
        >>> [citation.key for citation in read_text("As in [@lee99; @kim01].", "markdown").citations]
        ['lee99', 'kim01']
    """

    key: str
    place: Place


@dataclass(frozen=True, slots=True)
class Section:
    """A section's title and depth (1: highest).

    Example:
        >>> from cocite.drafts.reading import read_text
        >>> read_text("\\\\section{Data} We parse.", "latex").sections
        (Section(title='Data', level=1),)
    """

    title: str
    level: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, with gaps as ``[CIT]`` and citations as ``[OTHERCIT]``, and the position of its section.

    Attributes:
        line: near which its paragraph stands, as in :class:`Place`.
        place: the source of its first to its last character; None where the form has no such source (.docx, .pdf).
        is_abstract: whether it is of the abstract.

    Example:
        >>> from cocite.drafts.reading import read_text
        >>> read_text("We parse. It helps [?].", "text").sentences[1].text
        'It helps [CIT].'
    """

    text: str
    section: int
    line: int = 1
    is_abstract: bool = False
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft, read.

    Attributes:
        kind: its form.
        file: its name; "" for a text without a file.
        title, abstract: "" when it has none.
        authors: that it names.
        year: that its author gave it; None when there is none.
        sections, sentences, gaps, citations: in the order of the text.
        bibliographies: names of the ``.bib`` files that it names, as written.
        bibliography_ends: file -> where the name of another bibliography is added: (position, what is written
            before the name, what is written behind it).
        sources: file -> its text; empty for .docx and .pdf.
        warnings: a sentence for each part that was left out.
        references: the list of references that a draft without keys (.docx, .pdf, plain text) ends with; it is no
            part of its sentences.
        bibitems: key -> the reference that a ``\\bibitem`` of LaTeX prints; no part of the sentences either.
        entries: what the fields of a .docx, or the .bbl of biblatex, say of papers; their ids are keys of citations.

    Example:
        >>> from cocite.drafts.reading import read_text
        >>> draft = read_text("Neural parsing\\n\\nWe follow others [CIT].", "text")
        >>> draft.title, len(draft.gaps)
        ('Neural parsing', 1)
    """

    kind: Kind
    file: str
    title: str = ""
    abstract: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    sections: tuple[Section, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    gaps: tuple[Gap, ...] = ()
    citations: tuple[Citation, ...] = ()
    bibliographies: tuple[str, ...] = ()
    bibliography_ends: Mapping[str, tuple[int, str, str]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    references: str = ""
    bibitems: Mapping[str, str] = field(default_factory=dict)
    entries: tuple[PaperRecord, ...] = ()

    @property
    def cites(self) -> bool:
        """Whether it cites anything, by keys or by a printed list."""
        return bool(self.citations or self.references or self.bibitems)
