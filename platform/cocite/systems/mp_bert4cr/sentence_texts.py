"""A corpus' papers as sentences of tokens: an artifact of the model folder, made once, memory-mapped by all workers.

The vocabulary is made of the training period's texts alone. Then all papers are tokenised, for all are candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from transformers import AutoTokenizer

from cocite.array_files import ArrayWriter, require_fit
from cocite.artifacts import load_array
from cocite.bounds import PositiveSmallCount, TextLengthOrNone
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.nn.pretrained_transformers import load_tokenizer
from cocite.systems.masked_lm.texts import paper_texts
from cocite.systems.mp_bert4cr.trunk import TrunkSettings
from cocite.text.documents import bounds
from cocite.text.sentence_texts import SentenceReader, SentenceTexts, Surroundings, stretches
from cocite.text.token_files import TokenListWriter, load_token_lists
from cocite.text.token_lists import TokenLists
from cocite.text.wordpiece import train_wordpiece
from cocite.training.input_artifacts import (
    Advance,
    Stage,
    component_digests,
    find_input,
    make_input,
    open_input,
)
from cocite.training.periods import Periods, PeriodSettings

KIND = "sentence-texts"
"""Kind of the artifact, and its name in a model folder."""
BLOCK = 256
"""Papers whose texts are in memory at a time."""
CONTEXTS = 8192
"""Contexts whose texts are in memory at a time."""
OfContexts = tuple[NDArray[np.int32], NDArray[np.int32]]
"""(C,) the citing paper of each context, and (C,) the position of its sentence in that paper's body."""
VOCABULARY_BODY = 40
"""Most sentences of each body that the vocabulary is made of."""


class SentenceTextSettings(Settings):
    """The texts that are tokenised, and the vocabulary.

    Example:
        >>> SentenceTextSettings(vocabulary=8000, body=40).sentence_tokens
        64
    """

    trunk: TrunkSettings = TrunkSettings()
    """An encoder whose vocabulary the sentences have, and whose vectors of them a model may read. With one,
    ``vocabulary`` and ``lowercase`` are its own."""
    period: PeriodSettings = PeriodSettings()
    """The papers of the training period, whose texts make the vocabulary."""
    vocabulary: int = Field(16_000, ge=300, le=10_000_000)
    """Most word pieces."""
    lowercase: bool = True
    """Whether case is dropped."""
    sentence_tokens: int = Field(64, ge=2, le=65_535)
    """Most tokens of a sentence, the end token included; a longer sentence is cut."""
    title: bool = True
    """Whether a paper's title is the first sentence of its abstract."""
    body: TextLengthOrNone = 0
    """Most sentences of each body that are kept, in stretches spread evenly over it; 0: all."""
    stretch: PositiveSmallCount = 8
    """Neighbouring sentences that stay together, where not all are kept."""

    @property
    def components(self) -> tuple[str, ...]:
        """Artifacts of the model folder that they are made by."""
        return self.trunk.components

    def fingerprints(self, model_folder: Path) -> dict[str, str]:
        """Of the trunk."""
        return self.trunk.fingerprints(model_folder)


def prepare(
    settings: SentenceTextSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,
) -> bool:
    """Make vocabulary and sentences, unless the folder already has those of this corpus and these settings.

    Args:
        settings: the texts and the vocabulary.
        corpus: the papers.
        folder: the artifact's folder.
        stage: is called with the name of each step as it begins, and its number of papers or contexts.
        advance: is called with the number of papers or contexts that were just done.

    Returns:
        Whether they were made.

    Raises:
        InputError: no paper of the training period cites another, or none of the dev period does.
    """

    def write(to: Path) -> None:
        if settings.trunk.is_there:
            tokenizer = load_tokenizer(settings.trunk.place(folder.parent))
        else:
            tokenizer = _vocabulary(settings, corpus, stage, advance)
        tokenizer.save_pretrained(to)
        reader = SentenceReader(tokenizer, settings.sentence_tokens)
        stage("sentences: abstracts", len(corpus))
        with _Writer(to, "abstracts", len(tokenizer)) as writer:
            for start in range(0, len(corpus), BLOCK):
                rows = np.arange(start, min(start + BLOCK, len(corpus)))
                titles, abstracts = (corpus.papers.take(name, rows) for name in ("title", "abstract"))
                writer.add(*reader.abstracts(titles, abstracts, title=settings.title))
                advance(len(rows))
        kept = _bodies(settings, corpus, reader, to, stage, advance)
        _contexts(corpus, reader, to, kept, stage, advance)

    return make_input(KIND, settings, corpus, folder, write, more=component_digests(settings, folder.parent))


def _vocabulary(settings: SentenceTextSettings, corpus: Corpus, stage: Stage, advance: Advance) -> Any:
    """A tokenizer whose vocabulary is of the training period's texts."""
    train = np.flatnonzero(Periods.of(corpus, settings.period).history.citing)
    stage("sentences: vocabulary", 2 * len(train))

    def texts() -> Iterator[str]:
        most = min(settings.body or VOCABULARY_BODY, VOCABULARY_BODY)
        for block in paper_texts(corpus, train, most):
            yield from block
            advance(len(block))

    return train_wordpiece(texts, settings.vocabulary, lowercase=settings.lowercase)


def _bodies(
    settings: SentenceTextSettings,
    corpus: Corpus,
    reader: SentenceReader,
    folder: Path,
    stage: Stage,
    advance: Advance,
) -> NDArray[np.bool_]:
    """Write the body sentences that are kept; return (S,) which of the store's sentences those are."""
    indptr = np.asarray(corpus.sentence_indptr)
    owner, position = stretches(np.diff(indptr), settings.body, settings.stretch)
    chosen = indptr[owner] + position
    cuts = np.searchsorted(owner, np.arange(len(corpus) + 1))
    np.save(folder / "bodies.positions.npy", corpus.sentences.column("position")[chosen], allow_pickle=False)
    stage("sentences: bodies", len(corpus))
    with _Writer(folder, "bodies", len(reader.tokenizer)) as writer:
        for start in range(0, len(corpus), BLOCK):
            part = cuts[start : start + BLOCK + 1]
            sentences = corpus.sentences.take("text", chosen[part[0] : part[-1]])
            papers = [sentences[low - part[0] : high - part[0]] for low, high in pairwise(part.tolist())]
            writer.add(*reader.bodies(papers))
            advance(len(papers))
    kept = np.zeros(len(corpus.sentences), bool)
    kept[chosen] = True
    return kept


def _contexts(
    corpus: Corpus,
    reader: SentenceReader,
    folder: Path,
    kept: NDArray[np.bool_],
    stage: Stage,
    advance: Advance,
) -> None:
    """Write the texts of the contexts whose sentence was not kept."""
    wanted = np.flatnonzero(~_sentence_is_kept(corpus, kept))
    gaps = np.zeros(len(corpus.contexts), np.int64)
    stage("sentences: contexts", len(wanted))
    with _Writer(folder, "contexts", len(reader.tokenizer)) as writer:
        for start in range(0, len(corpus.contexts), CONTEXTS):
            end = min(start + CONTEXTS, len(corpus.contexts))
            block = wanted[np.searchsorted(wanted, start) : np.searchsorted(wanted, end)]
            around = reader.surroundings(corpus.contexts.take("text", block))
            counts = np.zeros(end - start, np.int64)
            counts[block - start], gaps[block] = np.diff(around.indptr), around.gap
            writer.add(around.sentences, bounds(counts))
            advance(len(block))
    np.save(folder / "contexts.gap.npy", gaps, allow_pickle=False)


def _sentence_is_kept(corpus: Corpus, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(C,) whether the sentence of each context is kept."""
    positions = np.asarray(corpus.sentences.column("position"), np.int64)
    owner = np.repeat(np.arange(len(corpus)), np.diff(corpus.sentence_indptr))
    width = max(int(positions.max(initial=0)), int(corpus.contexts.column("sentence").max(initial=0))) + 1
    keys = (owner * width + positions)[kept]
    sentence = np.asarray(corpus.contexts.column("sentence"), np.int64)
    wanted = np.asarray(corpus.context_citing, np.int64) * width + sentence
    if not len(keys):
        return np.zeros(len(wanted), bool)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray((keys[at] == wanted) & (sentence >= 0))


class _Writer:
    """Writes runs of sentences to ``NAME.*.npy``, a block at a time, so that one block is in memory.

    Args:
        folder: the folder of the files.
        name: of the files.
        vocabulary: number of tokens that there are.
    """

    def __init__(self, folder: Path, name: str, vocabulary: int) -> None:
        self._stack = ExitStack()
        self._sentences = self._stack.enter_context(TokenListWriter(folder, name, vocabulary))
        self._indptr = self._stack.enter_context(ArrayWriter(folder / f"{name}.indptr.npy", np.int64))
        self._indptr.add([0])

    def __enter__(self) -> _Writer:
        return self

    def add(self, sentences: TokenLists, indptr: NDArray[np.int64]) -> None:
        """Write sentences, and where each run of them begins."""
        self._indptr.add(self._sentences.length + indptr[1:])
        self._sentences.add(sentences)

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def load_from_model_folder(
    model_folder: Path, corpus: Corpus, *, of_contexts: OfContexts | None = None
) -> SentenceTexts:
    """The sentences that a model folder keeps of a corpus; see :func:`load`.

    Raises:
        NotFoundError: it keeps none.
    """
    folder = find_input(model_folder, KIND, lacking="sentences to train on")
    return load(folder, corpus, of_contexts=of_contexts)


def load(folder: Path, corpus: Corpus, *, of_contexts: OfContexts | None = None) -> SentenceTexts:
    """Read an artifact of :func:`prepare`; the arrays are memory-mapped.

    Args:
        folder: of the artifact.
        corpus: that it was made of.
        of_contexts: what the store says of its contexts, where that is mapped; None: it is copied into memory, as the
            store's columns lie in batches.

    Raises:
        InputError: it was made of another corpus.
        IntegrityError: an array does not fit the others.
    """
    open_input(folder, KIND, corpus, what="texts")
    (abstracts, abstract_indptr), (bodies, body_indptr), (contexts, context_indptr) = (
        _runs(folder, name, count)
        for name, count in (
            ("abstracts", len(corpus)),
            ("bodies", len(corpus)),
            ("contexts", len(corpus.contexts)),
        )
    )
    positions, gap = load_array(folder / "bodies.positions.npy"), load_array(folder / "contexts.gap.npy")
    require_fit(len(positions) == len(bodies) and len(gap) == len(context_indptr) - 1, folder)
    return SentenceTexts(
        AutoTokenizer.from_pretrained(str(folder)),
        abstracts,
        abstract_indptr,
        bodies,
        body_indptr,
        positions,
        Surroundings(contexts, context_indptr, gap),
        *(of_contexts or (corpus.context_citing, corpus.contexts.column("sentence"))),
    )


def _runs(folder: Path, name: str, count: int) -> tuple[TokenLists, NDArray[np.int64]]:
    """All sentences of a name, and (count + 1,) where each run of them begins."""
    sentences, indptr = load_token_lists(folder, name), load_array(folder / f"{name}.indptr.npy")
    require_fit(len(indptr) == count + 1 and indptr[-1] == len(sentences), folder, of=name)
    return sentences, indptr
