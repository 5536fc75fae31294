"""Synthetic corpora, each built once for all the processes of a test run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from filelock import FileLock

from cocite.corpus.builder import build
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic


class SyntheticCorpora:
    """Builds synthetic corpora in one folder and gives the same store for the same settings.

    Args:
        folder: where the stores lie.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(
        self, papers: int, *, seed: int, split: tuple[int, int] | None = None, **settings: Any
    ) -> Corpus:
        """A corpus of so many papers.

        Args:
            papers: how many.
            seed: of the synthetic records.
            split: years before the last one up to which papers train, and tune: (2, 1) has one year of each at the end.
            settings: of :class:`~cocite.corpus.synth.Synthetic`.
        """
        synthetic = Synthetic(papers, seed=seed, **settings)
        named = [papers, seed, *(split or ()), *(f"{key}={value}" for key, value in sorted(settings.items()))]
        store = self.folder / "-".join(map(str, named))
        years = None
        if split is not None:
            last = int(synthetic.year([papers - 1])[0])
            years = by_year_name(last - split[0], last - split[1])
        with FileLock(f"{store}.lock"):
            if not store.exists():
                build(synthetic, store, split=years)
        return Corpus.open(store)


def shared_folder(base: Path) -> Path:
    """A folder that the worker processes of one test run share."""
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
