"""Puts the best paper of each gap into a draft: a changed copy, and a .bib file with the new entries."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cocite.corpus.bibtex import KeyForm, citation_keys, entries
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.drafts.advice import GapAdvice
from cocite.drafts.bibliography import Bibliography
from cocite.drafts.draft import Draft, Gap
from cocite.drafts.gaps import filled_command
from cocite.errors import InputError

SUFFIX = "-cited"
"""What the names of written files end with, before their extension."""
_PANDOC_KEY = re.compile(r"\w+(?:[:.#$%&+?<>~/-]\w+)*")


@dataclass(frozen=True, slots=True)
class Completion:
    """A draft with its gaps filled.

    Attributes:
        sources: file -> its text before, of all files.
        texts: file -> its text now, of all files.
        bibliography: the new entries in BibTeX; "" when the draft's own has all.
        bib_name: name of the file for them.
        is_linked: whether the new text names that file.
        unfilled: numbers of the gaps that stay.
        document: of a .docx draft the file's bytes now; its texts are its paragraphs.
        added: key -> paper that the draft cites now, and that its own bibliography lacks.

    Example:
        >>> done = Completion({"a.tex": "We.\\n"}, {"a.tex": "We \\\\cite{lee}.\\n"}, "", "a-cited.bib", False, ())
        >>> print(done.diff().splitlines()[-1])
        +We \\cite{lee}.
    """

    sources: Mapping[str, str]
    texts: Mapping[str, str]
    bibliography: str
    bib_name: str
    is_linked: bool
    unfilled: tuple[int, ...]
    document: bytes = b""
    added: Mapping[str, PaperRecord] = field(default_factory=dict)

    def diff(self) -> str:
        """A unified diff of all files that change."""
        lines: list[str] = []
        for name, text in self.texts.items():
            old = self.sources[name].splitlines(keepends=True)
            lines += difflib.unified_diff(old, text.splitlines(keepends=True), name, name)
        # A last line without an end would run into the next file's.
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class _Edit:
    """Words in place of some characters of a file."""

    file: str
    start: int
    end: int
    words: str


def complete(
    draft: Draft,
    advice: Sequence[GapAdvice],
    bibliography: Bibliography,
    corpus: Corpus,
    keys_as: KeyForm = "cocite",
) -> Completion:
    """Fill each gap with the key of its best paper: the author's own key, where the bibliography has the paper.

    Args:
        draft: to fill.
        advice: its gaps and their papers.
        bibliography: the author's own.
        corpus: of the papers.
        keys_as: form of new keys.

    Raises:
        InputError: the draft's kind cannot be written.
    """
    check_kind(draft, draft.file)
    best = {gap.number: gap.papers[0].row for gap in advice if gap.papers}
    keys = {row: key for row in best.values() if (key := bibliography.key_of(row)) is not None}
    new = [row for row in dict.fromkeys(best.values()) if row not in keys]
    papers = corpus.papers_at(new)
    taken = {*bibliography.entries, *(citation.key for citation in draft.citations)}
    new_keys = citation_keys(papers, taken, keys_as)
    keys |= dict(zip(new, new_keys, strict=True))
    # A gap that a macro prints twice, or in a file that is input twice, is one place for several keys.
    places: dict[tuple[str, int, int], tuple[Gap, dict[str, None]]] = {}
    for gap in advice:
        if gap.number in best:
            place = gap.gap.place
            known = places.setdefault((place.file, place.start, place.end), (gap.gap, {}))
            known[1][keys[best[gap.number]]] = None
    edits = [
        _Edit(
            gap.place.file,
            gap.place.end if gap.form == "after" else gap.place.start,
            gap.place.end,
            _citation(draft, gap, list(found)),
        )
        for gap, found in places.values()
    ]
    new_bib = bib_name(draft)
    linked = False
    if new:
        for name, (at, before, after) in draft.bibliography_ends.items():
            edits.append(_Edit(name, at, at, f"{before}{Path(new_bib).stem}{after}"))
            linked = True
    edits.sort(key=lambda edit: (edit.start, edit.end))
    texts = {
        name: _edited(text, [edit for edit in edits if edit.file == name])
        for name, text in draft.sources.items()
    }
    unfilled = tuple(gap.number for gap in advice if gap.number not in best)
    added = dict(zip(new_keys, papers, strict=True))
    bib = entries(papers, new_keys) if new else ""
    return Completion(draft.sources, texts, bib, new_bib, linked, unfilled, added=added)


def bib_name(draft: Draft) -> str:
    """The name of the file for new entries, beside the main file.

    Example:
        >>> bib_name(Draft("latex", "paper.tex"))
        'paper-cited.bib'
    """
    return f"{Path(draft.file).stem}{SUFFIX}.bib"


def check_kind(draft: Draft, name: str) -> None:
    """Refuse what is no text that a key can be put into; ``name`` is that of the file that was given.

    A .docx takes citations as text instead, see :func:`cocite.drafts.word_completion.complete_word`.

    Raises:
        InputError: it is a .docx or a .pdf.
    """
    if draft.kind == "pdf":
        raise InputError(
            "a .pdf draft cannot be written", where=name, hint="read the report, or use its source"
        )
    if draft.kind == "docx":
        raise InputError("a .docx draft has no keys", where=name, hint="use --write alone")


def _citation(draft: Draft, gap: Gap, keys: Sequence[str]) -> str:
    """What stands in a gap from now on."""
    if draft.kind == "latex":
        listed = ",".join([*gap.kept, *keys])
        if gap.form == "keys":
            return listed
        return f"~\\cite{{{listed}}}" if gap.form == "after" else f"\\cite{{{listed}}}"
    mark = draft.sources[gap.place.file][gap.place.start : gap.place.end]
    if mark.startswith("\\"):
        # Lines of a quotation of Markdown begin with a mark.
        return filled_command(re.sub(r"\n[ \t>]*", "\n", mark), keys)
    listed = "; ".join(f"@{key}" if _PANDOC_KEY.fullmatch(key) else f"@{{{key}}}" for key in keys)
    return listed if gap.form == "keys" else f"[{listed}]"


def _edited(text: str, edits: Sequence[_Edit]) -> str:
    """A text after edits that do not overlap, in the order of their starts."""
    parts, at = [], 0
    for edit in edits:
        parts += [text[at : edit.start], edit.words]
        at = edit.end
    return "".join([*parts, text[at:]])
