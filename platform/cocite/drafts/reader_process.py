"""Reads the draft of a stranger in a process of its own: see :mod:`cocite.bounded_process`."""

from __future__ import annotations

import base64
import importlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from cocite.bounded_process import MEMORY, answer_apart, bound_process, error_answer, memory_error
from cocite.corpus.records import PaperRecord
from cocite.drafts.draft import Draft, Gap
from cocite.drafts.limits import Budget
from cocite.errors import CociteError, InputError
from cocite.systems.citing_sentences.quality import Quality

MAX_ENTRIES = 20_000
"""Entries of a draft's bibliographies that are looked at."""
_DRAFT: TypeAdapter[Draft] = TypeAdapter(Draft)
_GAP: TypeAdapter[Gap] = TypeAdapter(Gap)


@dataclass(frozen=True, slots=True)
class ReadDraft:
    """What was read.

    Attributes:
        draft: without its sources, unless they were asked for.
        entries: of its bibliographies, with key (as id), title, year and DOI.
        missing: bibliographies that it names and that were not given.
        suggested: sentences that seem to need a citation, as gaps with their probabilities, where they were asked for.
        quality: how often these are right, where that was measured.

    Example:
        >>> ReadDraft(Draft("text", "", title="Parsing"), (), ()).draft.title
        'Parsing'
    """

    draft: Draft
    entries: tuple[PaperRecord, ...]
    missing: tuple[str, ...]
    suggested: tuple[tuple[Gap, float], ...] = ()
    quality: Quality | None = None


def read_apart(
    files: Mapping[str, bytes],
    main: str = "",
    bib: bytes = b"",
    *,
    seconds: float,
    memory: int = MEMORY,
    sources: bool = False,
    suggest: tuple[Path, int] | None = None,
) -> ReadDraft:
    """Read a draft from files in memory, in another process.

    Args:
        files, main: as of :func:`~cocite.drafts.reading.open_files`.
        bib: of a bibliography, beside those that the draft names.
        seconds: that the reading may take.
        memory: bytes that it may take.
        sources: whether to give the texts of its files too.
        suggest: a model folder with a classifier of sentences that need a citation, and how many to give at most.

    Raises:
        InputError: as of :func:`~cocite.drafts.reading.open_files`, or the reading takes too long or too much memory.

    Example:
        >>> read_apart({"draft.txt": b"We parse trees [CIT]."}, seconds=60).draft.gaps[0].context
        'We parse trees TARGETCIT.'
    """
    job = {
        "files": {name: base64.b64encode(data).decode() for name, data in files.items()},
        "main": main,
        "bib": base64.b64encode(bib).decode(),
        "seconds": seconds,
        "memory": memory,
        "sources": sources,
        "suggest": None if suggest is None else [str(suggest[0]), suggest[1]],
    }
    answer = answer_apart(
        "cocite.drafts.reader_process", job, seconds=seconds, noun=Budget.noun, hint=Budget.hint
    )
    entries = tuple(
        PaperRecord(key, title, year=year, doi=doi) for key, title, year, doi in answer["entries"]
    )
    suggested = tuple((_GAP.validate_python(gap), chance) for gap, chance in answer["suggested"])
    draft, missing = _DRAFT.validate_python(answer["draft"]), tuple(answer["missing"])
    quality = answer["quality"] and Quality(*answer["quality"])
    return ReadDraft(draft, entries, missing, suggested, quality)


def read_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`read_apart` gets back: the draft, or why it cannot be read.

    Example:
        >>> job = {"files": {"draft.odt": ""}, "main": "", "bib": "", "seconds": 5, "memory": MEMORY}
        >>> read_job(job)["error"]["message"]
        "is of no known kind: '.odt'"
    """
    from cocite.corpus.importers.bibtex import bibtex_papers
    from cocite.drafts.reading import open_files

    budget = Budget("", job["seconds"])
    try:
        files = {name: base64.b64decode(data) for name, data in job["files"].items()}
        opened = open_files(files, job["main"], seconds=job["seconds"])
        found, missing = opened.bibliographies()
        texts = [base64.b64decode(job["bib"]), *(data for _, data in found)]
        entries: dict[str, PaperRecord] = {}
        for text in texts:
            for paper in bibtex_papers(text):
                budget.check_time()
                entries.setdefault(paper.id, paper)
                if len(entries) > MAX_ENTRIES:
                    raise InputError(
                        f"the draft's bibliographies have more than {MAX_ENTRIES:,} entries",
                        hint="send those that it cites",
                    )
        suggested, quality = _suggested(opened.draft, *job["suggest"]) if job.get("suggest") else ([], None)
    except InputError as error:
        return error_answer(error)
    except MemoryError:
        return error_answer(memory_error(job["memory"], noun=Budget.noun, hint=Budget.hint))
    draft = opened.draft if job.get("sources") else replace(opened.draft, sources={})
    return {
        "draft": _DRAFT.dump_python(draft, mode="json"),
        "entries": [[paper.id, paper.title, paper.year, paper.doi] for paper in entries.values()],
        "missing": missing,
        "suggested": [[_GAP.dump_python(gap, mode="json"), chance] for gap, chance in suggested],
        "quality": quality and [quality.precision, quality.recall],
    }


def _suggested(draft: Draft, model: str, most: int) -> tuple[list[tuple[Gap, float]], Quality | None]:
    # A draft alone is read without what computes the features, which takes a second to import.
    from cocite.drafts.suggestions import load_classifier, suggestions

    try:
        classifier = load_classifier(Path(model))
    except CociteError as error:  # it names folders of the machine
        raise InputError("the model's citing-sentences cannot be read") from error
    found = suggestions(draft, classifier, most)
    return [(one.gap, one.probability) for one in found], classifier.quality


if __name__ == "__main__":
    own_job = json.load(sys.stdin.buffer)
    if own_job["suggest"]:
        importlib.import_module("sklearn.feature_extraction")  # its code is no memory that the draft takes
    bound_process(own_job["seconds"], own_job["memory"])
    sys.stdout.write(json.dumps(read_job(own_job)))
