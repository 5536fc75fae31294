"""Detects a cold history: no link is known, so every count of citations is zero.

A caller that needs links raises the error that these functions return; another one prints it as a warning.
"""

from __future__ import annotations

from cocite.corpus.history import History, history_before
from cocite.corpus.records import SPLITS
from cocite.corpus.store import Corpus
from cocite.errors import InputError


def cold_history(history: History, papers: str, hint: str) -> InputError | None:
    """The error of a history that holds no link; None where it holds one.

    Args:
        history: the known links.
        papers: the papers of the history in words, as in "no paper before the test split cites another one".
        hint: what to do, where the corpus has links that the history lacks.
    """
    if not history.is_cold:
        return None
    corpus = history.corpus
    if not len(corpus.cites.indices):
        hint = "the corpus holds no link at all: import it with what its papers cite"
    return InputError(
        f"no paper {papers} cites another one, so nothing is known of who cites whom and every count and vote of "
        "citations is zero",
        where=str(corpus.path),
        hint=hint,
    )


def cold_before(corpus: Corpus, split: str) -> InputError | None:
    """The error of :func:`cold_history` for the links that may be known before a split.

    Raises:
        InputError: there is no such split, or no paper belongs to it.
    """
    hint = "choose a split that leaves links to earlier papers: cocite corpus split STORE --random 0.1,0.1 --to NEW"
    return cold_history(history_before(corpus, split), f"before the {split} split", hint)


def cold_corpus(corpus: Corpus) -> InputError | None:
    """The error of :func:`cold_history` for the links before test, else before dev; without a split, for all."""
    splits = [name for name in ("test", "dev") if (corpus.split == SPLITS.index(name)).any()]
    if not splits:
        return cold_history(History.all(corpus), "of the corpus", "")
    return next(filter(None, (cold_before(corpus, name) for name in splits)), None)
