"""The starter corpus: a few hundred landmark papers, shipped with cocite and used when no other corpus is given.

``papers.jsonl`` has the papers, ``contexts.jsonl`` sentences that cite them, and ``drafts/`` drafts to try.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from cocite.corpus.builder import build
from cocite.corpus.importers.jsonl import NativeJSONL
from cocite.corpus.records import Record
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus

PAPERS = Path(__file__).with_name("papers.jsonl")
CONTEXTS = Path(__file__).with_name("contexts.jsonl")
TRAIN_UNTIL, DEV_UNTIL = 2017, 2019
"""Years of its split: about three fifths train, the rest is halved between dev and test."""


def records() -> Iterator[Record]:
    """The starter papers and then the sentences that cite them, as cocite's own JSON lines give them."""
    return chain(NativeJSONL(PAPERS), NativeJSONL(CONTEXTS))


def build_starter(destination: str | Path, *, replace: bool = False) -> Corpus:
    """Write the starter corpus as a store, split by year."""
    return build(
        records(),
        destination,
        strict=True,
        split=by_year_name(TRAIN_UNTIL, DEV_UNTIL),
        replace=replace,
        meta={"source": "starter", "format": "jsonl"},
    )


@cache
def starter_corpus() -> Corpus:
    """The starter corpus, opened; it is built once in a process, in a temporary folder that goes with the process.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> corpus.paper(0).title
        'On Relevance, Probabilistic Indexing and Information Retrieval'
    """
    folder = tempfile.mkdtemp(prefix="cocite-starter-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return build_starter(Path(folder, "corpus"))
