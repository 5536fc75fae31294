"""Whether what a draft cites helps its gaps as liked papers (``--like-cited``), as Markdown tables.

    cocite index build CORPUS --to INDEX --before-split test
    python -m benchmarks.like_cited CORPUS INDEX [--model MODEL] [--papers 400] [--each 2]
    cocite index build CORPUS --to DEV_INDEX --before-split dev
    python -m benchmarks.like_cited CORPUS DEV_INDEX --split dev --weights 0.1,0.2,0.3,0.5 --papers 200

The drafts are those of :mod:`benchmarks.draft_recall` in which one citation is a gap and the others are cited with keys
that a .bib file resolves. Each is answered twice, with and without what it cites as liked papers. What a gap hides is
hidden everywhere in its draft, so that it is never among the liked papers; the program ends where it is.

The weight of liked papers beside a context, :data:`cocite.pipeline.seeds.SEEDS`, is chosen on dev, with ``--weights``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.draft_recall import DEPTH, Source, open_written, read_sources, write_bibliography, write_draft
from cocite.bootstrap import resampled_means
from cocite.corpus.store import Corpus
from cocite.drafts.advice import Adviser
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.seeds import SEEDS


@dataclass(frozen=True)
class Asked:
    """A gap that was answered with and without seeds.

    Attributes:
        paper: row of the citing paper.
        hidden: rows of what the gap's group cites.
        seeds: papers that the draft cites.
        lists: rows, best first: without the seeds, then with them, by each weight.
    """

    paper: int
    hidden: tuple[int, ...]
    seeds: int
    lists: tuple[list[int], ...]


def ask(
    recommender: Recommender, sources: Sequence[Source], each: int, weights: Sequence[float]
) -> list[Asked]:
    """The answers to so many drafts of one gap a paper; drafts that cite nothing else are left out."""
    corpus = recommender.index.corpus
    result = []
    for source in sources:
        bib = write_bibliography(source, corpus)
        options = Options(top_k=DEPTH, candidates="all", evidence=False, exclude=(source.row,))
        for gap in source.groups[:each]:
            text = write_draft(source, "latex", gap=gap)
            draft, bibliography = open_written(text, bib, "latex", corpus)
            seeds = tuple(dict.fromkeys(bibliography.cited_rows(draft).values()))
            hidden = tuple(source.cited[gap])
            if {*hidden} & {*seeds}:
                raise SystemExit(f"paper {source.row}, gap {gap}: a hidden paper is among the liked ones")
            if not seeds:
                continue
            found = []
            for like, weight in (((), 0.0), *((seeds, weight) for weight in weights)):
                with patch.dict(SEEDS, local=weight):
                    [answer] = Adviser(recommender, draft, bibliography, like=like).gaps(options)
                found.append([corpus.row(paper.id) for paper in answer.papers])
            result.append(Asked(source.row, hidden, len(seeds), tuple(found)))
    return result


def measures(asked: Sequence[Asked], which: int) -> NDArray[np.float64]:
    """(Q, 2) the share of the hidden papers in each list, and the reciprocal rank of the first of them, else 0."""
    values = []
    for one in asked:
        ranks = [rank for rank, row in enumerate(one.lists[which], 1) if row in one.hidden]
        values.append((len(ranks) / len({*one.hidden}), 1 / ranks[0] if ranks else 0.0))
    return np.array(values)


def show(label: str, asked: Sequence[Asked], which: int = 1) -> None:
    """Print a line of a table: both measures without and with seeds, and their differences with intervals."""
    without, with_seeds = measures(asked, 0), measures(asked, which)
    papers = np.array([one.paper for one in asked])
    low, high = np.quantile(resampled_means(with_seeds - without, papers), [0.025, 0.975], axis=0)
    gained = (with_seeds - without).mean(axis=0)
    cells = [
        f"{a:.3f} | {b:.3f} | {c:+.3f} ({d:+.3f} to {e:+.3f})"
        for a, b, c, d, e in zip(
            without.mean(axis=0), with_seeds.mean(axis=0), gained, low, high, strict=True
        )
    ]
    print(f"| {label} | {len(asked):,} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--papers", type=int, default=400)
    parser.add_argument("--each", type=int, default=2, help="gaps of a paper")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    parser.add_argument("--weights", default=str(SEEDS["local"]), help="of the liked papers, comma-separated")
    options = parser.parse_args()
    sources = read_sources(Corpus.open(options.corpus), options.papers, options.seed, options.split)
    weights = [float(weight) for weight in options.weights.split(",")]
    recommender = Recommender.load(options.model, options.index)
    asked = ask(recommender, sources, options.each, weights)
    cited = recommender.index.history.in_citations
    print(f"{len({one.paper for one in asked})} {options.split} papers\n")
    measured = (f"R@{DEPTH}", f"MRR@{DEPTH}")
    columns = (f"{name} | with what it cites liked | difference, 95 % of samples" for name in measured)
    print(f"| gaps | number | {' | '.join(columns)} |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    if len(weights) > 1:
        for which, weight in enumerate(weights, 1):
            show(f"all, weight {weight}", asked, which)
        return
    show("all", asked)
    known = np.array([max(int(cited[row]) for row in one.hidden) for one in asked])
    seeds = np.array([one.seeds for one in asked])
    parts = {
        "hidden papers never cited before": known == 0,
        "cited 1 to 4 times": (known >= 1) & (known <= 4),
        "cited 5 to 19 times": (known >= 5) & (known <= 19),
        "cited 20 times or more": known >= 20,
        "1 to 3 liked": seeds <= 3,
        "4 to 6 liked": (seeds >= 4) & (seeds <= 6),
        "7 to 12 liked": (seeds >= 7) & (seeds <= 12),
        "13 liked or more": seeds >= 13,
    }
    for label, part in parts.items():
        if part.any():
            show(label, [asked[i] for i in np.flatnonzero(part)])


if __name__ == "__main__":
    main()
