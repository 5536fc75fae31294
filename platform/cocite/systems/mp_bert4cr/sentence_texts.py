"""A corpus' papers as sentences of tokens: an artifact of the model folder, made once, memory-mapped by all workers.

The vocabulary is made of the training period's texts alone. Then all papers are tokenised, for all are candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from transformers import AutoTokenizer

from cocite.artifacts import load_array, publish
from cocite.bounds import PositiveSmallCount, TextLengthOrNone
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError
from cocite.manifests import holds
from cocite.systems.masked_lm.texts import paper_texts
from cocite.text.documents import bounds
from cocite.text.sentence_texts import SentenceReader, SentenceTexts, Surroundings, stretches
from cocite.text.token_lists import TokenLists
from cocite.text.wordpiece import train_wordpiece
from cocite.training.input_artifacts import check_same_corpus, find_input
from cocite.training.periods import Periods, PeriodSettings
from cocite.verification import open_verified_once

KIND = "sentence-texts"
"""Kind of the artifact, and its name in a model folder."""
BLOCK = 256
"""Papers whose texts are in memory at a time."""
CONTEXTS = 8192
"""Contexts whose texts are in memory at a time."""
VOCABULARY_BODY = 40
"""Most sentences of each body that the vocabulary is made of."""

Advance = Callable[[int], object]


class SentenceTextSettings(Settings):
    """The texts that are tokenised, and the vocabulary.

    Example:
        >>> SentenceTextSettings(vocabulary=8000, body=40).sentence_tokens
        64
    """

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


def prepare(
    settings: SentenceTextSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Callable[[str, int], object] = lambda *_: None,
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
    meta: dict[str, Any] = {"corpus": corpus.version, "settings": settings.model_dump(mode="json")}
    if holds(folder, kind=KIND, meta=meta):
        return False
    train = np.flatnonzero(Periods.of(corpus, settings.period).history.citing)
    with publish(folder, kind=KIND, meta=meta, replace=folder.exists()) as temporary:
        stage("sentences: vocabulary", 2 * len(train))

        def texts() -> Iterator[str]:
            most = min(settings.body or VOCABULARY_BODY, VOCABULARY_BODY)
            for block in paper_texts(corpus, train, most):
                yield from block
                advance(len(block))

        tokenizer = train_wordpiece(texts, settings.vocabulary, lowercase=settings.lowercase)
        tokenizer.save_pretrained(temporary)
        reader = SentenceReader(tokenizer, settings.sentence_tokens)
        stage("sentences: abstracts", len(corpus))
        with _Writer(temporary, "abstracts", len(tokenizer)) as writer:
            for start in range(0, len(corpus), BLOCK):
                rows = np.arange(start, min(start + BLOCK, len(corpus)))
                titles, abstracts = (corpus.papers.take(name, rows) for name in ("title", "abstract"))
                writer.add(*reader.abstracts(titles, abstracts, title=settings.title))
                advance(len(rows))
        kept = _bodies(settings, corpus, reader, temporary, stage, advance)
        _contexts(corpus, reader, temporary, kept, stage, advance)
    return True


def _bodies(
    settings: SentenceTextSettings,
    corpus: Corpus,
    reader: SentenceReader,
    folder: Path,
    stage: Callable[[str, int], object],
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
    stage: Callable[[str, int], object],
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
        vocabulary: number of tokens that there are; with up to 65,536 a token takes two bytes.
    """

    def __init__(self, folder: Path, name: str, vocabulary: int) -> None:
        self.folder, self.name = folder, name
        # Two bytes hold any usual vocabulary, and the bodies' tokens are the largest files by far.
        self.dtype = np.dtype(np.uint16 if vocabulary <= 1 << 16 else np.int32)
        self.raw = folder / f"{name}.raw"
        self.file = self.raw.open("wb")
        self.counts = [np.empty(0, np.int32)]
        self.runs = [np.empty(0, np.int64)]

    def __enter__(self) -> _Writer:
        return self

    def add(self, sentences: TokenLists, indptr: NDArray[np.int64]) -> None:
        """Write sentences that lie one after the other in ``sentences.ids``, and where each run of them begins."""
        self.file.write(sentences.ids.astype(self.dtype).tobytes())
        self.counts.append(sentences.counts.astype(np.int32))
        self.runs.append(np.diff(indptr))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.file.close()
        if kind is not None:
            return
        counts, runs = np.concatenate(self.counts), np.concatenate(self.runs)
        size = self.raw.stat().st_size
        # np.save wants one array, and the tokens of a large corpus need not fit into memory.
        ids = np.memmap(self.raw, self.dtype, "r") if size else np.empty(0, self.dtype)
        for part, values in (
            ("ids", ids),
            ("counts", counts),
            ("starts", bounds(counts)[:-1]),
            ("indptr", bounds(runs)),
        ):
            np.save(self.folder / f"{self.name}.{part}.npy", values, allow_pickle=False)
        self.raw.unlink()


def load_from_model_folder(model_folder: Path, corpus: Corpus) -> SentenceTexts:
    """The sentences that a model folder keeps of a corpus.

    Raises:
        NotFoundError: it keeps none.
    """
    return load(find_input(model_folder, KIND, lacking="sentences to train on"), corpus)


def load(folder: Path, corpus: Corpus) -> SentenceTexts:
    """Read an artifact of :func:`prepare`; the arrays are memory-mapped.

    Raises:
        InputError: it was made of another corpus.
        IntegrityError: an array does not fit the others.
    """
    check_same_corpus(open_verified_once(folder, kind=KIND), corpus, folder, what="texts")
    (abstracts, abstract_indptr), (bodies, body_indptr), (contexts, context_indptr) = (
        _runs(folder, name, count)
        for name, count in (
            ("abstracts", len(corpus)),
            ("bodies", len(corpus)),
            ("contexts", len(corpus.contexts)),
        )
    )
    positions, gap = load_array(folder / "bodies.positions.npy"), load_array(folder / "contexts.gap.npy")
    if len(positions) != len(bodies) or len(gap) != len(context_indptr) - 1:
        raise IntegrityError("the arrays do not fit each other", where=str(folder), hint="make them anew")
    return SentenceTexts(
        AutoTokenizer.from_pretrained(str(folder)),
        abstracts,
        abstract_indptr,
        bodies,
        body_indptr,
        positions,
        Surroundings(contexts, context_indptr, gap),
        corpus.context_citing,
        corpus.contexts.column("sentence"),
    )


def _runs(folder: Path, name: str, count: int) -> tuple[TokenLists, NDArray[np.int64]]:
    """All sentences of a name, and (count + 1,) where each run of them begins."""
    ids, starts, counts, indptr = (
        load_array(folder / f"{name}.{part}.npy") for part in ("ids", "starts", "counts", "indptr")
    )
    last = int(starts[-1]) + int(counts[-1]) if len(starts) else 0
    if (
        len(starts) != len(counts)
        or last != len(ids)
        or len(indptr) != count + 1
        or indptr[-1] != len(counts)
    ):
        raise IntegrityError(
            f"the arrays of {name} do not fit each other", where=str(folder), hint="make them anew"
        )
    return TokenLists(ids, starts, counts), indptr
