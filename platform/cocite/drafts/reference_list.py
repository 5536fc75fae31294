"""What a draft's fields and its printed list of references cite, found among a corpus' titles and DOIs.

A .pdf, a .docx or a plain text prints its references and names no keys; a ``\\bibitem`` of LaTeX has a key. What may
be a title in it is looked up; a title counts where an author or the year of its paper stands near it, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from cocite.corpus.articles.printed_names import plain
from cocite.corpus.articles.printed_titles import possible_titles, printed_dois
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.drafts.bibliography import Bibliography, rows_of
from cocite.drafts.draft import Citation, Draft, Place
from cocite.protocols import NO_ROW

MAX_REFERENCES = 200_000
"""Characters of a list that are looked at; 1,000 references have about as many."""
_NEAR = 300
"""Characters before and behind a title in which its author or its year has to stand."""
_SHOWN = 300
"""Characters of a printed reference that stand for its title."""


class PrintedPaper(NamedTuple):
    """A paper of the corpus that a text names; of several, the greatest is most likely what the text is about.

    Example:
        >>> max(PrintedPaper(False, 9, -40, 3), PrintedPaper(False, 23, -12, 5)).row
        5
    """

    by_doi: bool
    length: int
    """Characters of its title, or of its DOI."""
    before: int
    """Where that begins, as a negative number."""
    row: int


def with_references(draft: Draft, bibliography: Bibliography, corpus: Corpus) -> tuple[Draft, Bibliography]:
    """A draft and its bibliography with what its fields and its printed list of references cite.

    Of a list without keys each paper that is found counts as cited, with its id in the corpus as the key; papers that
    the corpus does not hold are not known by it. The entries of a .docx are what its own fields say, so they count
    before those of a .bib file. A ``\\bibitem`` of LaTeX has a key, and so an entry in any case, unless a .bib file has
    one. The lists are no part of the draft then, so that they are looked up once.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.drafts.reading import read_text
        >>> text = "We parse [1].\\n\\nReferences\\n\\n[1] Vaswani et al. Attention is all you need. NIPS 2017."
        >>> draft, found = with_references(read_text(text, "text"), Bibliography({}, {}), starter_corpus())
        >>> [citation.key for citation in draft.citations], list(found.cited_rows(draft))
        (['vaswani2017attention'], ['vaswani2017attention'])
    """
    entries, rows = dict(bibliography.entries), dict(bibliography.rows)
    keys: list[str] = []
    if draft.entries:
        is_word = draft.kind == "docx"
        own = Bibliography.of((one for one in draft.entries if is_word or one.id not in entries), corpus)
        entries |= own.entries
        rows = {key: row for key, row in rows.items() if key not in own.entries} | dict(own.rows)
    if draft.bibitems:
        items = {key: text for key, text in draft.bibitems.items() if key not in entries}
        keys += items
        found = printed_in(list(items.values()), corpus)
        rows |= {key: max(own).row for key, own in zip(items, found, strict=True) if own}
        entries |= {key: PaperRecord(key, text[:_SHOWN]) for key, text in items.items()}
    if draft.references:
        new = [row for row in printed_rows(draft.references, corpus) if row not in rows.values()]
        papers = dict(zip(corpus.ids(new), zip(new, corpus.papers_at(new), strict=True), strict=True))
        # A field or a .bib may give another paper the key that is this one's id.
        papers = {f"{key} (printed)" if key in entries else key: found for key, found in papers.items()}
        keys += papers
        rows |= {key: row for key, (row, _) in papers.items()}
        entries |= {key: paper for key, (_, paper) in papers.items()}
    if not (draft.bibitems or draft.references or draft.entries):
        return draft, bibliography
    known = {citation.key for citation in draft.citations}
    place = Place(draft.file, 1, 0, 0)
    printed = (Citation(key, place) for key in keys if key not in known)
    read = replace(draft, citations=(*draft.citations, *printed), references="", bibitems={}, entries=())
    return read, Bibliography(entries, rows)


def printed_rows(references: str, corpus: Corpus) -> list[int]:
    """The rows of the corpus' papers that a printed list names, in its order, each once."""
    [found] = printed_in([references], corpus)
    return list(dict.fromkeys(one.row for one in sorted(found, key=lambda one: (-one.before, one.row))))


def printed_in(texts: Sequence[str], corpus: Corpus) -> list[list[PrintedPaper]]:
    """The corpus' papers that each of some texts names; together they are looked up in as little time as one text."""
    texts = list(texts)
    room = MAX_REFERENCES
    for at, text in enumerate(texts):
        texts[at] = text[:room]
        room -= len(texts[at])
    result: list[list[PrintedPaper]] = [[] for _ in texts]
    dois = [(at, doi) for at, text in enumerate(texts) for doi in printed_dois(text)]
    records = [PaperRecord("", "", doi=doi.text) for _, doi in dois]
    for (at, doi), row in zip(dois, rows_of(records, corpus).tolist(), strict=True):
        if row != NO_ROW:
            result[at].append(PrintedPaper(True, doi.end - doi.start, -doi.start, row))
    runs = [(at, run) for at, text in enumerate(texts) for run in possible_titles(text)]
    rows = rows_of([PaperRecord("", run.text) for _, run in runs], corpus).tolist()
    hits = [(at, run, row) for (at, run), row in zip(runs, rows, strict=True) if row != NO_ROW]
    papers = dict(
        zip((row for _, _, row in hits), corpus.papers_at([row for _, _, row in hits]), strict=True)
    )
    for at, run, row in hits:
        if _stands_near(papers[row], texts[at][max(0, run.start - _NEAR) : run.end + _NEAR]):
            result[at].append(PrintedPaper(False, len(run.text), -run.start, row))
    return result


def _stands_near(paper: PaperRecord, text: str) -> bool:
    """Whether a name of an author, or the year, of a paper stands in a text; true for a paper that has neither."""
    near = plain(text)
    names = [plain(name.split()[-1]) for name in paper.authors if name.split()]
    marks = [*names, *([str(paper.year)] if paper.year else [])]
    return not marks or any(re.search(rf"\b{re.escape(mark)}\b", near) for mark in marks)
