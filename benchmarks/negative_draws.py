"""How noise depends on what is counted, and on what is spared: MP-BERT4CR's Eq. 2, and HAtten's random papers.

    python benchmarks/negative_draws.py --corpus STORE [--draws 200000]

Over the training period of the corpus, it prints the two counts of Eq. 2 (papers that cite, and occurrences as a
citation) with the total variation between the noises made of them; the share of MP-BERT4CR's draws that the manuscript
cites elsewhere, which ``negatives.spare_manuscript`` draws again; and, for each value of HAtten's ``objective.later``,
the share of random draws that are later than the citing paper, and the share that remain negatives. One thread.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.sampling.draws import Draws, uniform
from cocite.sampling.noise import NegativeSampler
from cocite.sampling.random_papers import RandomPapers
from cocite.training.forbidden_negatives import ForbiddenNegatives
from cocite.training.gaps import Gaps
from cocite.training.periods import Periods, PeriodSettings


def noise(history: History, gaps: Gaps, draws: int) -> None:
    """Print the two counts of Eq. 2, and how far apart the noises are."""
    papers, occurrences = (
        NegativeSampler.of(history, count=count, exclude_cited=False) for count in ("papers", "occurrences")
    )
    both = np.zeros((2, len(history.corpus)))
    for row, sampler in zip(both, (papers, occurrences), strict=True):
        row[sampler.noise.rows] = sampler.noise.masses
    print(f"Eq. 2 counts {history.in_citations.sum():,} (citing paper, cited paper) pairs as `papers`,")
    print(f"  {history.occurrences.sum():,} citations in contexts as `occurrences`;")
    print(f"  total variation between the noises: {np.abs(both[0] - both[1]).sum() / 2:.3f}")
    some = np.arange(draws) % len(gaps)
    drawn = occurrences.draw(gaps.positions[some], 1, Draws(0, 0, np.arange(draws)))[:, 0]
    elsewhere = history.cites.contains(gaps.citing[some], drawn).mean()
    print(f"  share of draws that the manuscript cites elsewhere: {elsewhere:.4f}")


def random_papers(corpus: Corpus, gaps: Gaps, draws: int) -> None:
    """Print what becomes of HAtten's random papers."""
    some = np.arange(draws) % len(gaps)
    citing, numbers = gaps.citing[some], uniform(0, 0, np.arange(draws), 1)
    print(
        "HAtten's random papers: objective.later, share later than the citing paper, share left as negatives"
    )
    for later in ("left_out", "not_drawn", "used"):
        forbidden = ForbiddenNegatives(History.all(corpus), later=later != "used")
        random = RandomPapers(forbidden.years, later=later != "not_drawn")
        drawn = random.draw(citing, numbers)[:, 0]
        share = (forbidden.years[drawn] > forbidden.years[citing]).mean()
        print(f"  {later:10} {share:.4f} {(~forbidden.at(citing, drawn)).mean():.4f}")


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=200_000)
    args = parser.parse_args()
    corpus = Corpus.open(args.corpus)
    history = Periods.of(corpus, PeriodSettings(), all_dev=True).history
    gaps = Gaps.known(history)
    noise(history, gaps, args.draws)
    random_papers(corpus, gaps, args.draws)


if __name__ == "__main__":
    main()
