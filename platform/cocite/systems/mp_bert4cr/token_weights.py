"""Inverse document frequencies of word pieces, as an artifact of the model folder: made once, before workers start."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import require_fit
from cocite.artifacts import load_array
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.systems.mp_bert4cr.sentence_texts import SentenceTextSettings, load_from_model_folder
from cocite.text.sentence_texts import SentenceTexts
from cocite.text.token_lists import TokenLists
from cocite.training.input_artifacts import (
    Advance,
    Stage,
    component_digests,
    find_input,
    make_input,
    open_input,
)

KIND = "token-weights"
"""Kind of the artifact, and its name in a model folder."""
BLOCK = 8192
"""Papers whose tokens are in memory at a time."""


class TokenWeightSettings(Settings):
    """What determines the weights, besides the corpus.

    Example:
        >>> TokenWeightSettings().texts.vocabulary
        16000
    """

    texts: SentenceTextSettings = SentenceTextSettings()
    """Whose abstracts are counted."""


def prepare(
    settings: TokenWeightSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,
) -> bool:
    """Count the papers of each word piece, unless the folder already has the weights.

    Args:
        settings: whose abstracts.
        corpus: the papers.
        folder: the artifact's folder, beside which that of the sentences lies.
        stage: is called with the name of the step as it begins, and the number of papers.
        advance: is called with the number of papers that were just done.

    Returns:
        Whether they were made.

    Raises:
        NotFoundError: the sentences are not there.
    """

    def write(to: Path) -> None:
        stage("weights of words", len(corpus))
        weights = inverse_document_frequency(load_from_model_folder(folder.parent, corpus), advance=advance)
        np.save(to / "weights.npy", weights, allow_pickle=False)

    # Of the trunk whose vocabulary the sentences have.
    more = component_digests(settings.texts, folder.parent)
    return make_input(KIND, settings, corpus, folder, write, more=more)


def token_weights(
    model_folder: Path, corpus: Corpus, settings: TokenWeightSettings, vocabulary: int
) -> NDArray[np.float32]:
    """(V,) the weights that a model folder keeps, memory-mapped.

    Args:
        model_folder: keeps them.
        corpus: that is trained on.
        settings: whose abstracts were counted.
        vocabulary: V.

    Raises:
        NotFoundError: the folder keeps none.
        InputError: they were made of another corpus, or with other settings.
        IntegrityError: they are not those of the vocabulary.
    """
    folder = find_input(model_folder, KIND, lacking="weights of words to train on")
    open_input(folder, KIND, corpus, what="weights of words", settings=settings)
    weights: NDArray[np.float32] = load_array(folder / "weights.npy")
    require_fit(weights.shape == (vocabulary,), folder, to="the vocabulary")
    return weights


def inverse_document_frequency(
    texts: SentenceTexts, *, advance: Advance = lambda _: None
) -> NDArray[np.float32]:
    """(V,) log((N + 1) / (n + 1)) of each token that n of N abstracts have, divided by the mean over all tokens."""
    words = len(texts.tokenizer)
    papers, occurrences = np.zeros((2, words), np.int64)
    for start in range(0, len(texts), BLOCK):
        indptr = texts.abstract_indptr[start : start + BLOCK + 1]
        abstracts = TokenLists.joined([texts.abstracts.take(np.arange(indptr[0], indptr[-1]))])
        owner = np.repeat(np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), abstracts.counts)
        papers += np.bincount(np.unique(owner * words + abstracts.ids) % words, minlength=words)
        occurrences += np.bincount(abstracts.ids, minlength=words)
        advance(len(indptr) - 1)
    weights = np.log((len(texts) + 1) / (papers + 1))
    mean = np.average(weights, weights=occurrences) if occurrences.any() else 1.0
    return np.asarray(weights / max(float(mean), 1e-6), np.float32)
