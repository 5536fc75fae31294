"""Completes the draft of a stranger in a process of its own: see :mod:`cocite.bounded_process`."""

from __future__ import annotations

import base64
import json
import posixpath
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from cocite.bounded_process import MEMORY, answer_apart, bound_process, error_answer, memory_error
from cocite.corpus.records import PaperRecord
from cocite.drafts.completion import Completion, GapPaper
from cocite.drafts.limits import Budget
from cocite.drafts.style_names import DEFAULT_STYLE
from cocite.errors import InputError

_PAPER: TypeAdapter[PaperRecord] = TypeAdapter(PaperRecord)


@dataclass(frozen=True, slots=True)
class FinishedDraft:
    """A draft with its gaps filled, as its author gets it.

    Attributes:
        diff: a unified diff of its files; of a .docx by paragraphs.
        bib: the new entries in BibTeX; "" when there are none, and of a .docx.
        bib_name: name of the file for them, beside the main file.
        is_linked: whether the draft names that file now.
        files: name, as it was given -> bytes, of the files that change; of a .zip the archive, with the new entries.
        unfilled: numbers of the gaps that stay.

    Example:
        >>> FinishedDraft("", "", "a-cited.bib", False, {}, (1,)).unfilled
        (1,)
    """

    diff: str
    bib: str
    bib_name: str
    is_linked: bool
    files: Mapping[str, bytes]
    unfilled: tuple[int, ...]


def complete_apart(
    files: Mapping[str, bytes],
    main: str,
    papers: Mapping[int, Sequence[GapPaper]],
    *,
    style: str = DEFAULT_STYLE,
    seconds: float,
    memory: int = MEMORY,
) -> FinishedDraft:
    """Fill the gaps of a draft from files in memory, in another process.

    Args:
        files, main: as of :func:`~cocite.drafts.reading.open_files`.
        papers: number of a gap, from 1 -> the papers for it, at least one.
        style: name of that of the references, which a .docx gets.
        seconds: that the work may take.
        memory: bytes that it may take.

    Raises:
        InputError: as of :func:`~cocite.drafts.reading.open_files`, or the draft is of a kind that cannot be written,
            or the work takes too long or too much memory.

    Example:
        >>> paper = GapPaper(PaperRecord("a", "On trees", year=1999), "lee99")
        >>> complete_apart({"a.txt": b"We parse [CIT]."}, "", {1: [paper]}, seconds=60).files
        {'a.txt': b'We parse [@lee99].'}
    """
    job = {
        "files": {name: base64.b64encode(data).decode() for name, data in files.items()},
        "main": main,
        "papers": [
            [number, _PAPER.dump_python(one.paper, mode="json"), one.key, one.is_new]
            for number, found in papers.items()
            for one in found
        ],
        "style": style,
        "seconds": seconds,
        "memory": memory,
    }
    answer = answer_apart(
        "cocite.drafts.completion_process", job, seconds=seconds, noun=Budget.noun, hint=Budget.hint
    )
    made = {name: base64.b64decode(data) for name, data in answer.pop("files").items()}
    return FinishedDraft(files=made, unfilled=tuple(answer.pop("unfilled")), **answer)


def completion_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`complete_apart` gets back: the finished draft, or why there is none.

    Example:
        >>> job = {"files": {"a.pdf": ""}, "main": "", "papers": [], "style": "", "seconds": 5, "memory": MEMORY}
        >>> "error" in completion_job(job)
        True
    """
    try:
        files = {name: base64.b64decode(data) for name, data in job["files"].items()}
        papers: dict[int, list[GapPaper]] = {}
        for number, paper, key, is_new in job["papers"]:
            papers.setdefault(number, []).append(GapPaper(_PAPER.validate_python(paper), key, is_new))
        done, made = _completed(files, job["main"], papers, job["style"], job["seconds"])
        diff = done.diff()
    except InputError as error:
        return error_answer(error)
    except MemoryError:
        return error_answer(memory_error(job["memory"], noun=Budget.noun, hint=Budget.hint))
    return {
        "diff": diff,
        "bib": done.bibliography,
        "bib_name": done.bib_name,
        "is_linked": done.is_linked,
        "files": {name: base64.b64encode(data).decode() for name, data in made.items()},
        "unfilled": list(done.unfilled),
    }


def _completed(
    files: Mapping[str, bytes],
    main: str,
    papers: Mapping[int, Sequence[GapPaper]],
    style: str,
    seconds: float,
) -> tuple[Completion, dict[str, bytes]]:
    """A draft with its gaps filled, and the files that change, by the names under which they were given."""
    from cocite.drafts.archives import repacked, unpacked
    from cocite.drafts.completion import fill
    from cocite.drafts.latex_source import as_written
    from cocite.drafts.reading import ARCHIVE, open_files
    from cocite.drafts.source_files import inner_path

    opened = open_files(files, main, seconds=seconds)
    draft = opened.draft
    names = {inner_path(name): name for name in files}
    if draft.kind == "docx":
        from cocite.drafts.reference_styles import ReferenceStyle
        from cocite.drafts.word_completion import fill_word

        name = names[posixpath.join(opened.folder, draft.file)]
        chosen = {number: [one.paper for one in found] for number, found in papers.items()}
        done = fill_word(files[name], draft, chosen, ReferenceStyle.named(style))
        return done, {name: done.document}
    done = fill(draft, papers)
    [archive, *others] = files
    is_archive = not others and archive.lower().endswith(ARCHIVE)
    before = (
        unpacked(files[archive], archive)
        if is_archive
        else {path: files[name] for path, name in names.items()}
    )
    changed = {
        path: as_written(before[path], text)
        for name, text in done.texts.items()
        if text != done.sources[name] and (path := posixpath.join(opened.folder, name))
    }
    if not is_archive:
        return done, {names[path]: data for path, data in changed.items()}
    if done.bibliography:
        changed[posixpath.join(opened.folder, done.bib_name)] = done.bibliography.encode()
    return done, {archive: repacked(files[archive], archive, changed)}


if __name__ == "__main__":
    own_job = json.load(sys.stdin.buffer)
    bound_process(own_job["seconds"], own_job["memory"])
    sys.stdout.write(json.dumps(completion_job(own_job)))
