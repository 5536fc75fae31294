"""Doc2Vec as a baseline (Le and Mikolov 2014): a paper's vector helps to predict its words.

Distributed memory (PV-DM), whose word vectors and paper vectors share a space: MP-BERT4CR's query is the mean of the
context's word vectors, its citation vectors are inferred "from the content words" (section 5.3), here of title and
abstract. What all contexts, and what all papers, have in common is taken out of both, for it hides what tells them
apart: without that, queries find no more than chance gives. HyperDoc2Vec begins with these vectors.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.bounds import Dimension, Epochs, PositiveSmallCount
from cocite.config import Settings
from cocite.systems.baselines.texts import CitingTexts, line_file, mean_vectors, only_words


class Doc2VecSettings(Settings):
    """How PV-DM vectors are trained."""

    dimension: Dimension = 100
    """Components of a vector (gensim's default)."""
    window: PositiveSmallCount = 5
    """Words either side that predict a word with the paper's vector, at most (gensim's default)."""
    epochs: Epochs = 10
    """Passes over the papers, and again as many in which all papers' vectors are inferred (gensim's default)."""
    negatives: PositiveSmallCount = 5
    """Words drawn for each that is predicted (gensim's default)."""


def doc2vec(
    texts: CitingTexts, settings: Doc2VecSettings, *, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Vectors of words (W, d) by the reader's numbers and of papers (N, d); zero for what the papers do not hold.

    Word vectors are learned on the papers of the history; then they are held, and those of all papers are inferred.
    One thread trains, so that the same seed gives the same vectors.
    """
    gensim: Any = importlib.import_module("gensim.models")
    # gensim numbers papers by line: those of the history come first, so that they can be trained on alone.
    known = texts.history.citing
    order = np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)])
    papers = texts.papers.take(order)
    learned = texts.papers.take(order[: int(known.sum())])
    model = gensim.Doc2Vec(
        dm=1,
        vector_size=settings.dimension,
        window=settings.window,
        negative=settings.negatives,
        min_count=1,
        workers=1,
        seed=seed + 1,
    )
    with line_file(papers) as every, line_file(learned) as first:
        model.build_vocab(corpus_file=str(every))
        for path, part in ((first, learned), (every, papers)):
            model.train(
                corpus_file=str(path),
                total_examples=len(part),
                total_words=len(part.tokens),
                epochs=settings.epochs,
            )
            model.wv.vectors_lockf = np.zeros(1, np.float32)
    words = np.zeros((texts.reader.size, settings.dimension), np.float32)
    words[np.array(model.wv.index_to_key, np.int64)] = model.wv.vectors
    vectors = np.zeros((len(papers), settings.dimension), np.float32)
    vectors[order] = model.dv.vectors[: len(papers)]
    held = texts.papers.lengths > 0
    vectors[held] -= vectors[held].mean(axis=0)
    vectors[~held] = 0
    words -= mean_vectors(only_words(texts.contexts), words).mean(axis=0)
    return words, vectors
