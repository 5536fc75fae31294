"""Word2Vec as a baseline (Mikolov et al. 2013): a citation is a word of its sentence.

MP-BERT4CR, section 5.3: "the input embedding of the citation ids as citation vectors", and the mean of the local
context's word vectors as the query's; papers are ranked by the inner product, or the cosine. Papers that the training
period does not cite have no vector and are never ranked.
"""

from __future__ import annotations

import importlib
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cocite.bounds import Dimension, Epochs, PositiveSmallCount
from cocite.config import Settings
from cocite.systems.baselines.texts import CitingTexts, line_file, require_frequent, with_citations


class Word2VecSettings(Settings):
    """How the vectors are trained. Where a default is not gensim's, gensim's is named.

    Example:
        >>> Word2VecSettings(architecture="cbow", window=5, min_count=5).dimension  # all are gensim's
        100
    """

    architecture: Literal["skip-gram", "cbow"] = "skip-gram"
    """``skip-gram``: a word predicts each of those around it; ``cbow``: these together predict it (gensim's)."""
    dimension: Dimension = 100
    """Components of a vector (gensim's default)."""
    window: PositiveSmallCount = 10
    """Words either side that a word predicts, or that predict it, at most (gensim's: 5)."""
    min_count: PositiveSmallCount = 1
    """Words and citations that stand fewer times in the contexts have no vector (gensim's: 5)."""
    epochs: Epochs = 5
    """Passes over the contexts (gensim's default)."""
    negatives: PositiveSmallCount = 5
    """Words drawn for each that is predicted (gensim's default)."""
    cosine: bool = False
    """Whether papers are ranked by the cosine (MP-BERT4CR, section 5.3) and not by the inner product. It changes no
    vector."""


def word2vec(
    texts: CitingTexts, settings: Word2VecSettings, *, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Train vectors of words (W, d) by the reader's numbers and of papers (N, d); 0 for those in no context.

    One thread trains, so that the same seed gives the same vectors.

    Raises:
        InputError: no word stands in the contexts as often as ``min_count`` says.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     history = History.all(build(Synthetic(60, seed=1), folder + "/corpus"))
        ...     texts = CitingTexts.of(history, ParagraphSettings())
        ...     words, papers = word2vec(texts, Word2VecSettings(dimension=8, epochs=1))
        >>> words.shape == (texts.reader.size, 8), papers.shape
        (True, (60, 8))
    """
    gensim: Any = importlib.import_module("gensim.models")
    size = texts.reader.size
    lines = with_citations(texts)
    require_frequent(lines, settings.min_count, "w2v.min_count")
    with line_file(lines) as path:
        model = gensim.Word2Vec(
            corpus_file=str(path),
            sg=int(settings.architecture == "skip-gram"),
            vector_size=settings.dimension,
            window=settings.window,
            epochs=settings.epochs,
            negative=settings.negatives,
            min_count=settings.min_count,
            workers=1,
            seed=seed + 1,
        )
    vectors = np.zeros((size + len(texts.history.corpus), settings.dimension), np.float32)
    vectors[np.array(model.wv.index_to_key, np.int64)] = model.wv.vectors
    return vectors[:size], vectors[size:]
