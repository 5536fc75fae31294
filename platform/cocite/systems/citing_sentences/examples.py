"""Labelled sentences: those of the bodies of a split's papers, and whether they cite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.splits import split_papers
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.systems.citing_sentences.citations import is_incomplete
from cocite.systems.citing_sentences.features import TextSentence, sentences_of


@dataclass(frozen=True)
class CitingExamples:
    """The sentences of some papers.

    Example:
        >>> examples = CitingExamples([sentences_of(["As [[CIT:0]] shows, we parse with trees."], ["Models"])])
        >>> examples.cites.tolist(), len(examples)
        ([True], 1)
    """

    papers: Sequence[Sequence[TextSentence]]

    def __len__(self) -> int:
        return sum(map(len, self.papers))

    @cached_property
    def cites(self) -> NDArray[np.bool_]:
        """(S,) whether each sentence cites."""
        return np.array([one.cites for paper in self.papers for one in paper], bool)

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """(S,) whether each sentence reads as one without its citations, as the sentences of a draft do."""
        return np.array([not is_incomplete(one.text) for paper in self.papers for one in paper], bool)


def read_examples(
    corpus: Corpus, split: str, most: int, *, seed: int, advance: Callable[[int], None] = lambda _: None
) -> CitingExamples:
    """The sentences of the papers of a split whose bodies the corpus holds.

    A sentence is positive if it cites: a mark of the corpus, or the plain text of a citation, such as papers outside
    the corpus have. Both are removed from its text, with what else would say where they stood
    (:mod:`cocite.systems.citing_sentences.citations`). A sentence whose citation was its subject, or stood after a
    preposition, lacks a word then, which gives the citation away: see :attr:`CitingExamples.complete`.

    Args:
        corpus: with body sentences.
        split: ``train``, ``dev`` or ``test``.
        most: papers that are read; more are drawn from.
        seed: of the draw.
        advance: called with the number of papers read since the last call.

    Raises:
        InputError: the split has no paper with a body, or none of its sentences cites, or all do.
    """
    starts = corpus.sentence_indptr
    rows = np.flatnonzero(split_papers(corpus, split) & (np.diff(starts) > 0))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    papers = []
    for row in rows.tolist():
        first, last = int(starts[row]), int(starts[row + 1])
        body = corpus.sentences.table.slice(first, last - first)
        papers.append(sentences_of(body["text"].to_pylist(), body["section"].to_pylist()))
        advance(1)
    examples = CitingExamples(papers)
    if len(np.unique(examples.cites[examples.complete])) < 2:
        raise InputError(
            f"the {split} split has no body sentences of which some cite and some do not",
            where=str(corpus.path),
            hint="import a corpus with sentences",
        )
    return examples
