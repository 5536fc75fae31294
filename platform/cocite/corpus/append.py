"""Adds papers to a corpus: old papers keep their rows, new ones follow.

Texts of the old store are copied batch by batch, never parsed again. New papers may cite old and new ones; what an old
paper cites does not change, so a link from an old paper to a new one is only found by importing the corpus again.
Contexts and sentences are taken for new papers alone: those of old ones have their places, which other indexes know.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cocite.artifacts import seal
from cocite.corpus.builder import build, fill
from cocite.corpus.records import ContextRecord, PaperRecord
from cocite.corpus.rules import Limits, Tally
from cocite.corpus.store import KIND, Corpus
from cocite.errors import InputError


def append(
    base: Corpus,
    papers: Iterable[PaperRecord],
    contexts: Iterable[ContextRecord],
    destination: str | Path,
    *,
    limits: Limits | None = None,
    strict: bool = False,
    rejects: str | Path | None = None,
) -> Corpus:
    """A new store at ``destination``: the papers of ``base`` under their rows, then the new ones.

    The same rules hold as for an import: a paper whose id is in the base is a duplicate. The counts of rules in the new
    store's manifest are those of this addition; those before are under ``before``.
    """
    return build(
        itertools.chain(papers, contexts),
        destination,
        limits=limits,
        strict=strict,
        rejects=rejects,
        links_from_contexts=False,
        base=base,
        meta=_meta(base),
    )


def append_into(
    base: Corpus,
    papers: Iterable[PaperRecord],
    contexts: Iterable[ContextRecord],
    folder: str | Path,
    *,
    limits: Limits | None = None,
    strict: bool = False,
) -> Corpus:
    """The same inside a folder that is being built: ``folder`` must be empty, or not be there yet.

    The store is sealed with its own manifest; the artifact around it covers the files again when it is sealed.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise InputError("the folder is not empty", where=str(folder))
    with Tally(strict=strict) as tally:
        meta = _meta(base) | fill(
            itertools.chain(papers, contexts),
            folder,
            tally=tally,
            limits=limits,
            links_from_contexts=False,
            base=base,
        )
    seal(folder, kind=KIND, meta=meta)
    return Corpus.open(folder, verified=True)


def _meta(base: Corpus) -> dict[str, Any]:
    before = dict(base.manifest.meta)
    before.pop("before", None)
    return {"format": "append", "base": base.version, "before": before}
