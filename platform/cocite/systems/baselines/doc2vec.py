"""Doc2Vec as a baseline (Le and Mikolov 2014): a paper's vector helps to predict its words.

Distributed memory (PV-DM), whose word vectors and paper vectors share a space: MP-BERT4CR's query is the mean of the
context's word vectors, its citation vectors are inferred "from the content words" (section 5.3), here of title and
abstract. The mean over all contexts is subtracted from word vectors and the mean over all papers from paper vectors:
they dominate the cosines, and without this the ranking is no better than chance. HyperDoc2Vec begins with these
vectors.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.bounds import Dimension, Epochs, PositiveSmallCount
from cocite.config import Settings
from cocite.systems.baselines.texts import CitingTexts, line_file, mean_vectors, only_words, require_frequent


class Doc2VecSettings(Settings):
    """How PV-DM vectors are trained.

    Example:
        >>> Doc2VecSettings(dimension=50).window
        5
    """

    dimension: Dimension = 100
    """Components of a vector (gensim's default)."""
    window: PositiveSmallCount = 5
    """Words either side that predict a word with the paper's vector, at most (gensim's default)."""
    epochs: Epochs = 10
    """Passes over the papers, and again as many in which all papers' vectors are inferred (gensim's default)."""
    negatives: PositiveSmallCount = 5
    """Words drawn for each that is predicted (gensim's default)."""
    min_count: PositiveSmallCount = 1
    """Words that stand fewer times in the papers have no vector (gensim's: 5)."""


def doc2vec(
    texts: CitingTexts, settings: Doc2VecSettings, *, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Train vectors of words (W, d) by the reader's numbers and of papers (N, d); 0 for words that no paper has.

    Word vectors are trained on the papers of the history, and then fixed while the vectors of all papers are inferred.
    One thread trains, so that the same seed gives the same vectors.

    Raises:
        InputError: no word stands in the papers as often as ``min_count`` says.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     history = History.all(build(Synthetic(60, seed=1), folder + "/corpus"))
        ...     texts = CitingTexts.of(history, ParagraphSettings())
        ...     words, papers = doc2vec(texts, Doc2VecSettings(dimension=8, epochs=1))
        >>> words.shape == (texts.reader.size, 8), papers.shape
        (True, (60, 8))
    """
    gensim: Any = importlib.import_module("gensim.models")
    # gensim numbers papers by line: those of the history come first, so that they can be trained on alone.
    known = texts.history.citing
    order = np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)])
    papers = texts.papers.take(order)
    earlier = texts.papers.take(order[: int(known.sum())])
    require_frequent(papers, settings.min_count, "d2v.min_count")
    model = gensim.Doc2Vec(
        dm=1,
        vector_size=settings.dimension,
        window=settings.window,
        negative=settings.negatives,
        min_count=settings.min_count,
        workers=1,
        seed=seed + 1,
    )
    with line_file(papers) as all_lines, line_file(earlier) as earlier_lines:
        model.build_vocab(corpus_file=str(all_lines))
        for path, part in ((earlier_lines, earlier), (all_lines, papers)):
            model.train(
                corpus_file=str(path),
                total_examples=len(part),
                total_words=len(part.tokens),
                epochs=settings.epochs,
            )
            model.wv.vectors_lockf = np.zeros(1, np.float32)  # fixes the word vectors from now on
    words = np.zeros((texts.reader.size, settings.dimension), np.float32)
    words[np.array(model.wv.index_to_key, np.int64)] = model.wv.vectors
    vectors = np.zeros((len(papers), settings.dimension), np.float32)
    vectors[order] = model.dv.vectors[: len(papers)]
    filled = texts.papers.lengths > 0
    vectors[filled] -= vectors[filled].mean(axis=0)
    vectors[~filled] = 0
    words -= mean_vectors(only_words(texts.contexts), words).mean(axis=0)
    return words, vectors
