"""Puts citations of papers into the gaps of a .docx file, as text, and their references into the printed list."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace

from docx.opc.oxml import serialize_part_xml

from cocite.corpus.bibtex import citation_keys
from cocite.corpus.names import split_name
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.drafts.advice import GapAdvice
from cocite.drafts.archives import with_parts
from cocite.drafts.completion import Completion
from cocite.drafts.draft import Draft, Place
from cocite.drafts.gaps import kept_keys, text_gaps
from cocite.drafts.reference_styles import FormattedReference, ReferenceStyle
from cocite.drafts.word_editing import can_replace, replace_text
from cocite.drafts.word_references import ReferenceList
from cocite.drafts.word_text import WordFile, WordParagraph, open_word
from cocite.errors import InputError

_MARKUP = "\ue000-\uf8ff"
"""Signs for the forms of a reference."""
_SHORT = 40
"""Characters of a title that stand for the authors where a paper has none."""


def complete_word(
    data: bytes, draft: Draft, advice: Sequence[GapAdvice], corpus: Corpus, style: ReferenceStyle
) -> Completion:
    """Fill each gap with a citation of its best paper: see :func:`fill_word`.

    Args:
        data: of the .docx file.
        draft: read from it.
        advice: its gaps and their papers.
        corpus: of the papers.
        style: of the references.

    Raises:
        InputError: as of :func:`fill_word`.
    """
    best = {gap.number: gap.papers[0].row for gap in advice if gap.papers}
    papers = corpus.papers_at(list(best.values()))
    return fill_word(
        data, draft, {number: [paper] for number, paper in zip(best, papers, strict=True)}, style
    )


def fill_word(
    data: bytes, draft: Draft, papers: Mapping[int, Sequence[PaperRecord]], style: ReferenceStyle
) -> Completion:
    """Fill gaps with citations of papers, and add the references to the list that it lacks.

    Citations are numbers where the list is numbered, or where there is none and the style numbers references; else
    they are authors and year. All other parts of the file, and all other text, stay as they are.

    Args:
        data: of the .docx file.
        draft: read from it.
        papers: number of a gap, from 1 -> the papers for it, at least one.
        style: of the references.

    Raises:
        InputError: the file is not that which was read, or has declarations of its own; citeproc-py cannot use the
            style.
    """
    word = open_word(data, draft.file)
    if word.document.element.getroottree().docinfo.doctype:
        raise InputError(
            "declares entities, so that it cannot be written", where=draft.file, hint="save it anew in Word"
        )
    before, parts = _lines(word), _parts(word)
    chosen = []
    for number, gap in sorted(enumerate(draft.gaps, 1), key=lambda one: one[1].place.start):
        if number not in papers:
            continue
        paragraph, start, end = _found(word, gap.place)
        if can_replace(paragraph, start, end):
            chosen.append((number, papers[number], paragraph, start, end))
    cited = {paper.id: paper for _, papers_of_gap, *_ in chosen for paper in papers_of_gap}
    listed = ReferenceList.of(word, numbered=style.is_numbered)
    numbers = listed.numbers_of(list(cited.values()))
    new = [id_ for id_ in cited if id_ not in numbers]
    numbers |= {id_: number for number, id_ in enumerate(new, (listed.last or 0) + 1)}
    for _, papers_of_gap, paragraph, start, end in reversed(chosen):
        if listed.last is None:
            words = "; ".join(map(author_year, papers_of_gap))
            within = paragraph.text[:start]
            words = words if within.rfind("(") > within.rfind(")") else f"({words})"
        else:
            words = listed.cited(*sorted({numbers[paper.id] for paper in papers_of_gap}))
        kept = kept_keys(paragraph.text[start:end])
        replace_text(paragraph, start, end, ", ".join([*kept, words]))
    added = [replace(cited[id_], abstract="") for id_ in new]
    references = style.references(added) if added else []
    if style.is_numbered:
        references = [_without_number(one, number) for number, one in enumerate(references, 1)]
    listed.add(word, references)
    filled = {number for number, *_ in chosen}
    changed = {path: xml for path, xml in _parts(word).items() if xml != parts[path]}
    finished = with_parts(data, draft.file, changed) if filled else data
    return Completion(
        sources={draft.file: before},
        texts={draft.file: _lines(open_word(finished, draft.file))},
        bibliography="",
        bib_name="",
        is_linked=True,
        unfilled=tuple(number for number in range(1, len(draft.gaps) + 1) if number not in filled),
        document=finished,
        added=dict(zip(citation_keys(added), added, strict=True)),
    )


def author_year(paper: PaperRecord) -> str:
    """A paper by its authors and its year.

    Example:
        >>> author_year(PaperRecord("a", "Trees", year=1999, authors=("Ann Lee", "Ludwig van Beethoven")))
        'Lee and van Beethoven, 1999'
        >>> author_year(PaperRecord("a", "Trees", authors=("Lee, Ann", "B", "C")))
        'Lee et al., n.d.'
    """
    names = []
    for author in paper.authors[:3]:
        name = split_name(" ".join(author.split()))
        names.append(f"{name.particle} {name.family}".strip() if name else author)
    if not names:
        short = " ".join(paper.title.split())
        names = [short if len(short) <= _SHORT else f"{short[:_SHORT].rpartition(' ')[0] or short[:_SHORT]}…"]
    who = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f"{who}, {paper.year or 'n.d.'}"


def _found(word: WordFile, place: Place) -> tuple[WordParagraph, int, int]:
    """The paragraph of a gap, and the gap's characters in it."""
    at = bisect_right(word.paragraphs, place.start, key=lambda one: one.start) - 1
    paragraph = word.paragraphs[at]
    start, end = place.start - paragraph.start, place.end - paragraph.start
    if (start, end) not in [match.span() for match in text_gaps(paragraph.text)]:
        raise InputError("has changed since it was read", where=place.file, hint="try again")
    return paragraph, start, end


def _without_number(reference: FormattedReference, number: int) -> FormattedReference:
    """A reference without the number that its style gives it."""
    label = re.match(
        rf"([{_MARKUP}\[(\s]*){number}(?!\d)([{_MARKUP}\]).:\s]*)",
        reference.marked,
    )
    if label is None:
        return reference
    signs = re.sub(f"[^{_MARKUP}]", "", label[1] + label[2])
    return FormattedReference(signs + reference.marked[label.end() :])


def _lines(word: WordFile) -> str:
    """The file's paragraphs as lines, the empty ones left out."""
    lines = (" ".join(paragraph.text.split()) for paragraph in word.paragraphs)
    return "".join(f"{line}\n" for line in lines if line)


def _parts(word: WordFile) -> dict[str, bytes]:
    """The parts of a file that hold its text, by their names in the archive."""
    roots = {word.document.part.partname.membername: word.document.element, **word.notes}
    return {path: serialize_part_xml(root) for path, root in roots.items()}
