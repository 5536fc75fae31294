"""Splits of a corpus into train, dev and test papers, and Nogueira's filter against leaks between corpora."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.artifacts import publish
from cocite.corpus.records import PAPERS, SPLITS
from cocite.corpus.spill import BatchWriter, read_batches
from cocite.corpus.store import KIND, WHOLE, Corpus
from cocite.corpus.titles import similar_titles
from cocite.errors import InputError, nearest

NONE, TRAIN, DEV, TEST = range(4)
"""Codes of a split: positions in ``SPLITS``."""


@dataclass(frozen=True)
class Split:
    """The split of each paper of a corpus.

    Attributes:
        codes: (N,) int8: ``NONE``, ``TRAIN``, ``DEV`` or ``TEST``.

    Example:
        >>> from cocite.corpus.splits import Split
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> Split.by_year(corpus, train_until=2015, dev_until=2018).counts()
        {'none': 0, 'train': 191, 'dev': 92, 'test': 140}
        >>> Split.random(len(corpus), dev=0.1, test=0.1, seed=7).counts()
        {'none': 0, 'train': 339, 'dev': 42, 'test': 42}
    """

    codes: NDArray[np.int8]

    @classmethod
    def of(cls, corpus: Corpus) -> Split:
        """The split that the source gave, or the import."""
        return cls(np.asarray(corpus.split))

    @classmethod
    def by_year(cls, corpus: Corpus, train_until: int, dev_until: int) -> Split:
        """Split by the paper's year: train up to one year, dev up to another, test after; none when it is unknown."""
        if dev_until < train_until:
            raise InputError(f"dev ends in {dev_until}, before train in {train_until}", where="split by year")
        years = np.asarray(corpus.years)
        codes = np.select([years == 0, years <= train_until, years <= dev_until], [NONE, TRAIN, DEV], TEST)
        return cls(codes.astype(np.int8))

    @classmethod
    def random(cls, count: int, dev: float, test: float, *, seed: int = 0) -> Split:
        """Split at random by paper: rounded shares of dev and test; the rest trains. The same seed gives the same."""
        if not (0 <= dev <= 1 and 0 <= test <= 1 and dev + test <= 1):
            raise InputError(
                f"shares of {dev} and {test} do not lie within 0 and 1 together", where="random split"
            )
        codes = np.full(count, TRAIN, np.int8)
        order = np.random.default_rng([seed, count]).permutation(count)
        devs, tests = round(dev * count), round(test * count)
        codes[order[:devs]] = DEV
        codes[order[devs : devs + tests]] = TEST
        return cls(codes)

    def without(self, papers: NDArray[np.bool_]) -> Split:
        """The same split, with some papers in none."""
        return Split(np.where(papers, NONE, self.codes).astype(np.int8))

    @property
    def train(self) -> NDArray[np.bool_]:
        """(N,) whether a paper belongs to train."""
        return np.asarray(self.codes == TRAIN)

    @property
    def dev(self) -> NDArray[np.bool_]:
        """(N,) whether a paper belongs to dev."""
        return np.asarray(self.codes == DEV)

    @property
    def test(self) -> NDArray[np.bool_]:
        """(N,) whether a paper belongs to test."""
        return np.asarray(self.codes == TEST)

    def counts(self) -> dict[str, int]:
        """Papers of each split."""
        counts = np.bincount(self.codes, minlength=len(SPLITS)).tolist()
        return {name or "none": n for name, n in zip(SPLITS, counts, strict=True)}


def split_papers(corpus: Corpus, split: str) -> NDArray[np.bool_]:
    """(N,) whether a paper belongs to the split: ``train``, ``dev`` or ``test``.

    Raises:
        InputError: there is no such split, or no paper belongs to it.
    """
    if split not in SPLITS[1:]:
        raise InputError(f"no split is called {split!r}", hint=nearest(split, SPLITS[1:]))
    of_split = np.asarray(corpus.split == SPLITS.index(split))
    if not len(corpus):
        raise InputError("holds no paper", where=str(corpus.path))
    if not of_split.any():
        raise InputError(
            f"no paper belongs to the {split} split",
            where=str(corpus.path),
            hint="import the corpus with a split",
        )
    return of_split


def by_year_name(train_until: int, dev_until: int) -> Callable[[int], str]:
    """A function from a year to the name of its split, for :func:`~cocite.corpus.builder.build`."""
    return lambda year: SPLITS[
        NONE if not year else TRAIN if year <= train_until else DEV if year <= dev_until else TEST
    ]


def parse_years(text: str) -> tuple[int, int]:
    """Read ``TRAIN,DEV`` years, such as ``2009,2010``."""
    try:
        train, dev = (int(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"{text!r} is not two years as 2009,2010", where="split years") from error
    if dev < train:
        raise InputError(f"dev ends in {dev}, before train in {train}", where="split years")
    return train, dev


def parse_shares(text: str) -> tuple[float, float]:
    """Read ``DEV,TEST`` shares, such as ``0.1,0.1``."""
    try:
        dev, test = (float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"{text!r} is not two shares as 0.1,0.1", where="random split") from error
    return dev, test


def leaked(corpus: Corpus, other: Corpus, *, threshold: float = 0.7) -> NDArray[np.bool_]:
    """(N,) which papers of a corpus have a title that is also, or nearly, in another corpus.

    Nogueira et al. (2020), section 4.1: titles without special characters, Jaccard similarity of their unigrams,
    from 0.7 on. They take such papers out of the training corpus before testing on the other.
    """
    titles = [title for batch in corpus.papers.batches("title") for title in batch]
    others = [title for batch in other.papers.batches("title") for title in batch]
    return similar_titles(titles, others, threshold)


def with_split(corpus: Corpus, split: Split, destination: str | Path, *, replace: bool = False) -> Corpus:
    """Write a copy of a store with another split; all other files are the same."""
    if len(split.codes) != len(corpus):
        raise InputError(f"a split of {len(split.codes)} papers for a corpus of {len(corpus)}", where="split")
    # The new split makes it another corpus, also where the version was that of a store with bodies.
    meta: dict[str, Any] = {key: value for key, value in corpus.manifest.meta.items() if key != WHOLE}
    meta["counts"] = {**corpus.counts, "splits": split.counts()}
    with publish(Path(destination), kind=KIND, meta=meta, replace=replace) as folder:
        for name in corpus.manifest.files:
            if name != "papers.arrow":
                shutil.copyfile(corpus.path / name, folder / name)
        writer = BatchWriter(folder / "papers.arrow", PAPERS)
        start = 0
        for batch in read_batches(corpus.path / "papers.arrow"):
            codes = pa.array(split.codes[start : start + batch.num_rows], pa.int8())
            at = batch.schema.get_field_index("split")
            writer.write(batch.set_column(at, PAPERS.field("split"), codes))
            start += batch.num_rows
        writer.close()
    return Corpus.open(destination, verified=True)
