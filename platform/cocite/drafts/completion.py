"""Puts papers into the gaps of a draft: a changed copy, and a .bib file with the new entries."""

from __future__ import annotations

import difflib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cocite.corpus.bibtex import citation_keys, entries
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.drafts.advice import GapAdvice
from cocite.drafts.bibliography import Bibliography
from cocite.drafts.draft import Draft, Gap
from cocite.drafts.gaps import filled_command
from cocite.errors import InputError

NO_END = "\\ No newline at end of file\n"
"""What follows a last line without an end in a diff."""
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
            # Lines end at newlines alone, as patch has them, and not at form feeds.
            old, new = (list(io.StringIO(one, newline="\n")) for one in (self.sources[name], text))
            lines += difflib.unified_diff(old, new, name, name)
        return "".join(line if line.endswith("\n") else f"{line}\n{NO_END}" for line in lines)


@dataclass(frozen=True, slots=True)
class GapPaper:
    """A paper that is put into a gap.

    Attributes:
        paper: the paper.
        key: by which the draft cites it.
        is_new: whether the draft's own bibliography lacks it.

    Example:
        >>> GapPaper(PaperRecord("a", "Trees"), "lee99").is_new
        True
    """

    paper: PaperRecord
    key: str
    is_new: bool = True


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
    keys_as: str = "cocite",
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
    rows = list(dict.fromkeys(best.values()))
    papers = dict(zip(rows, corpus.papers_at(rows), strict=True))
    own = {row: key for row in rows if (key := bibliography.key_of(row)) is not None}
    new = [row for row in rows if row not in own]
    taken = {*bibliography.entries, *(citation.key for citation in draft.citations)}
    new_keys = citation_keys([papers[row] for row in new], taken, keys_as)
    keys = own | dict(zip(new, new_keys, strict=True))
    return fill(draft, {n: [GapPaper(papers[row], keys[row], row not in own)] for n, row in best.items()})


def fill(draft: Draft, papers: Mapping[int, Sequence[GapPaper]]) -> Completion:
    """Fill gaps with the keys of papers.

    Args:
        draft: to fill.
        papers: number of a gap, from 1 -> the papers for it, at least one.

    Raises:
        InputError: the draft's kind cannot be written.

    Example:
        >>> from cocite.drafts.reading import read_text
        >>> fill(read_text("We parse [CIT].", "text"), {1: [GapPaper(PaperRecord("a", "Trees"), "lee99")]}).texts
        {'': 'We parse [@lee99].'}
    """
    check_kind(draft, draft.file)
    # A gap that a macro prints twice, or in a file that is input twice, is one place for several keys.
    places: dict[tuple[str, int, int], tuple[Gap, dict[str, None]]] = {}
    for number, gap in enumerate(draft.gaps, 1):
        if number in papers:
            place = gap.place
            known = places.setdefault((place.file, place.start, place.end), (gap, {}))
            known[1].update(dict.fromkeys(one.key for one in papers[number]))
    edits = [
        _Edit(
            gap.place.file,
            gap.place.end if gap.form == "after" else gap.place.start,
            gap.place.end,
            _citation(draft, gap, list(found)),
        )
        for gap, found in places.values()
    ]
    added = {one.key: one.paper for number in sorted(papers) for one in papers[number] if one.is_new}
    new_bib = bib_name(draft)
    linked = False
    if added:
        for name, (at, before, after) in draft.bibliography_ends.items():
            edits.append(_Edit(name, at, at, f"{before}{Path(new_bib).stem}{after}"))
            linked = True
    edits.sort(key=lambda edit: (edit.start, edit.end))
    texts = {
        name: _edited(text, [edit for edit in edits if edit.file == name])
        for name, text in draft.sources.items()
    }
    unfilled = tuple(number for number in range(1, len(draft.gaps) + 1) if number not in papers)
    bib = entries(list(added.values()), list(added)) if added else ""
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
