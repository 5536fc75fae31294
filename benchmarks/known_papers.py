"""What it takes to look up what a draft cites in a corpus: the first time and later, with and without a printed list.

    cocite corpus synth --papers 1000000 --to CORPUS
    python -m benchmarks.known_papers CORPUS [--entries 60] [--rounds 20]

A draft has a bibliography of ENTRIES papers of the corpus and as many that it lacks; another one prints the same as a
list of references. Times are of the processor, in one thread, the median of the rounds; memory is what the hashes take.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import TypeVar

import numpy as np

from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.drafts.bibliography import rows_of
from cocite.drafts.known_papers import KnownPapers
from cocite.drafts.reference_list import printed_rows

T = TypeVar("T")


def main() -> None:
    """Print one line for each kind of look-up."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--entries", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    corpus = Corpus.open(args.corpus)
    rng = np.random.default_rng(1)
    draws = [
        corpus.papers_at(np.sort(rng.choice(len(corpus), args.entries, replace=False)))
        for _ in range(args.rounds)
    ]
    bibliographies = [
        [PaperRecord(str(i), paper.title.upper(), year=paper.year) for i, paper in enumerate(own)]
        + [
            PaperRecord(str(-i), f"{paper.title} of others", doi=f"10.1/{i}")
            for i, paper in enumerate(own, 1)
        ]
        for own in draws
    ]
    lists = [
        "\n".join(
            f"{', '.join(paper.authors)}. {paper.year}. {paper.title}. In Proceedings." for paper in own
        )
        for own in draws
    ]
    first, _ = _timed(lambda: rows_of(bibliographies[0], corpus))
    known = KnownPapers.of(corpus)
    size = sum(table.hashes.nbytes + table.rows.nbytes for table in known._tables.values())
    print(
        f"{len(corpus):,} papers: {first:.2f} s of CPU for the first look-up, {size / 2**20:.1f} MiB of hashes"
    )
    later = [_timed(lambda own=own: rows_of(own, corpus)) for own in bibliographies]
    hits = [int((rows >= 0).sum()) for _, rows in later]
    print(f"a bibliography of {2 * args.entries} entries: {_ms(later)} ms of CPU, {np.mean(hits):.0f} found")
    printed = [_timed(lambda own=own: printed_rows(own, corpus)) for own in lists]
    print(
        f"a printed list of {args.entries} references: {_ms(printed)} ms of CPU, "
        f"{np.mean([len(rows) for _, rows in printed]):.0f} found"
    )


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    began = time.thread_time()
    result = work()
    return time.thread_time() - began, result


def _ms(timed: list[tuple[float, object]]) -> str:
    return f"{median(seconds for seconds, _ in timed) * 1000:.1f}"


if __name__ == "__main__":
    main()
