"""Finishes a draft that a client sent: the papers that were found for its gaps, or chosen, are put into them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from cocite.drafts.cite_keys import CiteKeys
from cocite.drafts.completion import GapPaper
from cocite.drafts.completion_process import complete_apart
from cocite.errors import InputError
from cocite_serve.http.draft_files import file_bytes, own_keys, read_files, with_cited
from cocite_serve.http.draft_schemas import DraftFile, DraftFinishRequest, Finished
from cocite_serve.http.papers import Papers
from cocite_serve.http.problems import check_lengths
from cocite_serve.settings import Limits

NOT_WRITTEN = "a .pdf draft is read, and not written; send its source"


def check_choices(request: DraftFinishRequest, papers: Papers, limits: Limits) -> None:
    """Refuse choices that no draft could have, before it is read.

    Args:
        request: the choices.
        papers: of the index.
        limits: in force.

    Raises:
        InputError: there are too many of them, a gap has two, or the index lacks a paper.
    """
    count = len(request.chosen)
    if count > limits.draft_gaps:
        raise InputError(f"at most {limits.draft_gaps:,} gaps are allowed, got {count:,}", where="chosen")
    seen = set[int]()
    for number, choice in enumerate(request.chosen):
        if choice.gap in seen:
            raise InputError(f"the gap {choice.gap} stands twice", where=f"chosen.{number}.gap")
        seen.add(choice.gap)
        where = f"chosen.{number}.papers"
        check_lengths(choice.papers, where, limits)
        unknown = [id_ for id_, row in zip(choice.papers, papers.rows(choice.papers), strict=True) if row < 0]
        if unknown:
            raise InputError(f"the corpus has no paper with the id {unknown[0]!r}", where=where)


def chosen_draft(request: DraftFinishRequest, papers: Papers, limits: Limits) -> Finished:
    """Read a draft, and put into its gaps the papers that its author chose for them, each in another process.

    Args:
        request: the draft, and the choices, which :func:`check_choices` has let pass.
        papers: of the index.
        limits: in force.

    Raises:
        InputError: it is no draft, cannot be written, lacks a gap, or is above a limit; ``where`` is the field of the
            request.
    """
    read = read_files(request.files, request.main, request.bib, limits)
    if read.draft.kind == "pdf":
        raise InputError(NOT_WRITTEN, where="files")
    gaps = len(read.draft.gaps)
    for number, choice in enumerate(request.chosen):
        if choice.gap > gaps:
            told = f"has {gaps:,} gap{'s' * (gaps != 1)}" if gaps else "has no gap"
            raise InputError(f"the draft {told}, so none is {choice.gap:,}", where=f"chosen.{number}.gap")
    draft, bibliography = with_cited(read, papers)
    own = own_keys(bibliography, papers)
    taken = {*bibliography.entries, *(citation.key for citation in draft.citations)}
    keys = CiteKeys(own, taken, request.cite_keys)
    filled: dict[int, list[GapPaper]] = {}
    for choice in sorted(request.chosen, key=lambda one: one.gap):
        records = papers.records(list(dict.fromkeys(choice.papers)))
        filled[choice.gap] = [
            GapPaper(paper, key, paper.id not in own)
            for paper, key in zip(records, keys.of(records), strict=True)
        ]
    return finished_draft(request.files, request.main, filled, request.style, limits, where="files")


def finished_draft(
    sent: Sequence[DraftFile],
    main: str,
    papers: Mapping[int, Sequence[GapPaper]],
    style: str,
    limits: Limits,
    *,
    where: str = "finished",
) -> Finished:
    """Fill the gaps of a draft in another process.

    Args:
        sent, main, style: as of the request.
        papers: number of a gap, from 1 -> the papers for it.
        limits: in force.
        where: the field of the request that errors name.

    Raises:
        InputError: it cannot be written, or is above a limit.
    """
    try:
        done = complete_apart(file_bytes(sent), main, papers, style=style, seconds=limits.draft_s)
    except InputError as error:
        raise InputError(str(error), where=where) from None
    size = len(done.diff.encode()) + len(done.bib.encode()) + sum(map(len, done.files.values()))
    if size > limits.draft_bytes:
        raise InputError(
            f"the finished draft and its difference have {size:,} bytes, at most {limits.draft_bytes:,} are allowed",
            where=where,
        )
    texts = {file.name for file in sent if file.base64 is None}
    return Finished(
        diff=done.diff,
        bib=done.bib,
        bib_name=done.bib_name,
        files=[
            DraftFile(name=name, text=data.decode())
            if name in texts
            else DraftFile(name=name, base64=base64.b64encode(data).decode())
            for name, data in done.files.items()
        ],
        unfilled=list(done.unfilled),
    )
