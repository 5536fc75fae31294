"""A corpus' papers and contexts as numbered words: an artifact of the model folder, memory-mapped by all workers.

It has the vocabulary, all titles and abstracts, and the contexts that are trained on and of the dev queries, with what
each cites. It is made once, a block at a time, so that no array of the corpus' size is in memory but a few bytes a
paper.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import ArrayWriter, RunWriter, require_fit, token_dtype
from cocite.artifacts import load_array
from cocite.bounds import Total
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.text.paragraph_reader import ParagraphReader, ParagraphSettings
from cocite.text.paragraphs import ABSTRACT, CONTEXT, KINDS, TITLE, Paragraphs
from cocite.training.gaps import Gaps
from cocite.training.input_artifacts import Advance, Stage, find_input, make_input, open_input
from cocite.training.periods import Periods, PeriodSettings

KIND = "hatten-texts"
"""Kind of the artifact, and its name in a model folder."""
BLOCK = 16_384
"""Contexts whose texts are in memory at a time."""


class HattenTextSettings(Settings):
    """What determines the numbered words, besides the corpus.

    Example:
        >>> HattenTextSettings(dev_contexts=100).bodies
        False
    """

    period: PeriodSettings = PeriodSettings()
    """Whose contexts are trained on, and whose are dev queries."""
    dev_contexts: Total = 2000
    """Most contexts of the dev papers that are dev queries, drawn evenly."""
    paragraphs: ParagraphSettings = ParagraphSettings()
    """How texts are cut into words, and the size of the vocabulary."""
    bodies: bool = False
    """Whether the vocabulary counts the words of bodies: where word vectors are trained on those."""


@dataclass(frozen=True)
class HattenTexts:
    """The numbered words of a corpus; all arrays are memory-mapped.

    Attributes:
        reader: numbers the words.
        paragraphs: of N papers and E + D contexts: i is the title of paper i, N + i its abstract, 2N + j the context
            of gap j; the dev gaps come last.
        gaps: the E contexts that are trained on.
        dev: the D contexts of the dev queries.
        words: (E,) words of each training context, and of the papers that it cites.
        citations: (N,) how many of the training contexts cite each paper.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus, settings = starter_corpus(), HattenTextSettings()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = prepare(settings, corpus, Path(folder, KIND))
        ...     texts = load(Path(folder), corpus, settings)
        >>> len(texts.paragraphs) == 2 * len(corpus) + len(texts.gaps) + len(texts.dev)
        True
    """

    reader: ParagraphReader
    paragraphs: Paragraphs
    gaps: Gaps
    dev: Gaps
    words: NDArray[np.int32]
    citations: NDArray[np.int32]

    @property
    def papers(self) -> int:
        """N."""
        return len(self.citations)


def prepare(
    settings: HattenTextSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,
) -> bool:
    """Make vocabulary and numbered words, unless the folder already has those of this corpus and these settings.

    Args:
        settings: the texts and the vocabulary.
        corpus: the papers.
        folder: the artifact's folder.
        stage: is called with the name of each step as it begins, and its number of texts.
        advance: is called with the number of texts that were just done.

    Returns:
        Whether they were made.

    Raises:
        InputError: no paper of the training period cites another, or none of the dev period does.
    """

    def write(to: Path) -> None:
        periods = Periods.of(corpus, settings.period, all_dev=True)
        papers, contexts = len(corpus), len(corpus.contexts)
        sentences = len(corpus.sentences) if settings.bodies else 0
        stage("texts: vocabulary", papers + contexts + sentences)
        reader = ParagraphReader.build(
            periods.history, settings.paragraphs, bodies=settings.bodies, advance=advance
        )
        reader.save(to)
        with RunWriter(to, "tokens", token_dtype(reader.size)) as tokens:
            stage("texts: papers", 2 * papers)
            lengths = np.zeros(papers, np.int32)
            for kind in (TITLE, ABSTRACT):
                start = 0
                for chunk in corpus.papers.table.column(KINDS[kind]).chunks:
                    paragraphs = reader.read(chunk, kind)
                    tokens.add(paragraphs.tokens, paragraphs.lengths)
                    lengths[start : start + len(chunk)] += paragraphs.lengths.astype(np.int32)
                    start += len(chunk)
                    advance(len(chunk))
            stage("texts: contexts", contexts)
            citations = np.zeros(papers, np.int32)
            with _GapWriter(to, "known") as known:
                for read, gaps in Gaps.blocks(corpus, periods.history.citing):
                    own = _write_contexts(corpus, gaps, reader, tokens)
                    known.add(gaps, own + _sums(lengths, gaps.cited))
                    np.add.at(citations, gaps.cited.indices, 1)
                    advance(read)
            with _GapWriter(to, "dev") as dev:
                gaps = Gaps.sample(corpus, periods.dev, settings.dev_contexts)
                dev.add(gaps, _write_contexts(corpus, gaps, reader, tokens))
        np.save(to / "citations.npy", citations, allow_pickle=False)

    return make_input(KIND, settings, corpus, folder, write)


def _sums(values: NDArray[np.integer[Any]], rows: CSR) -> NDArray[np.int64]:
    """(n,) the sum over each row's entries of a value that each entry has."""
    ends = np.concatenate([[0], np.cumsum(values[rows.indices], dtype=np.int64)])
    return np.asarray(np.diff(ends[rows.indptr]))


def _write_contexts(
    corpus: Corpus, gaps: Gaps, reader: ParagraphReader, tokens: RunWriter
) -> NDArray[np.int64]:
    """Write the words of some gaps' contexts; returns (n,) how many each has."""
    counts = [np.zeros(0, np.int64)]
    for start in range(0, len(gaps), BLOCK):
        part = corpus.contexts.taken("text", gaps.positions[start : start + BLOCK])
        paragraphs = Paragraphs.joined(reader.read(chunk, CONTEXT) for chunk in part.chunks)
        tokens.add(paragraphs.tokens, paragraphs.lengths)
        counts.append(paragraphs.lengths)
    return np.concatenate(counts)


class _GapWriter:
    """Writes gaps to ``NAME.*.npy``, a block at a time.

    Args:
        folder: of the files.
        name: of the files.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._stack = ExitStack()
        self.positions, self.citing, self.words = (
            self._stack.enter_context(ArrayWriter(folder / f"{name}.{part}.npy", dtype))
            for part, dtype in (("positions", np.int64), ("citing", np.int32), ("words", np.int32))
        )
        self.cited = self._stack.enter_context(RunWriter(folder, f"{name}.cited", np.int32))

    def __enter__(self) -> _GapWriter:
        return self

    def add(self, gaps: Gaps, words: NDArray[np.integer[Any]]) -> None:
        """Write gaps, and (n,) the number of words of each."""
        self.positions.add(gaps.positions)
        self.citing.add(gaps.citing)
        self.words.add(words)
        self.cited.add(gaps.cited.indices, gaps.cited.degrees)

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def load(model_folder: Path, corpus: Corpus, settings: HattenTextSettings) -> HattenTexts:
    """The texts that a model folder keeps of a corpus.

    Raises:
        NotFoundError: it keeps none.
        InputError: they were made of another corpus, or with other settings.
        IntegrityError: an array does not fit the others.
    """
    folder = find_input(model_folder, KIND, lacking="texts to train on")
    open_input(folder, KIND, corpus, what="texts", settings=settings)
    (gaps, words), (dev, _) = _gaps(folder, "known"), _gaps(folder, "dev")
    paragraphs = Paragraphs(load_array(folder / "tokens.indptr.npy"), load_array(folder / "tokens.npy"))
    citations = load_array(folder / "citations.npy")
    fits = (
        len(citations) == len(corpus)
        and len(paragraphs) == 2 * len(corpus) + len(gaps) + len(dev)
        and paragraphs.indptr[-1] == len(paragraphs.tokens)
    )
    require_fit(fits, folder)
    reader = ParagraphReader.load(folder, settings.paragraphs)
    return HattenTexts(reader, paragraphs, gaps, dev, words, citations)


def _gaps(folder: Path, name: str) -> tuple[Gaps, NDArray[np.int32]]:
    """The gaps of a name, and (n,) the words of each."""
    positions, citing, words, indptr, indices = (
        load_array(folder / f"{name}.{part}.npy")
        for part in ("positions", "citing", "words", "cited.indptr", "cited")
    )
    fits = len(positions) == len(citing) == len(words) == len(indptr) - 1 and indptr[-1] == len(indices)
    require_fit(fits, folder, of=name)
    return Gaps(positions, citing, CSR(indptr, indices)), words
