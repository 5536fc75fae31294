"""The systems of MP-BERT4CR's tables: models and baselines, made ready one after the other.

Each is opened when it is its turn to rank, so that the weights of one system are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError, nearest
from cocite.evaluation import systems
from cocite.evaluation.baselines import Bm25Baseline, lexical_index
from cocite.evaluation.experiment import Rank
from cocite.pipeline import components
from cocite.progress_bars import ProgressBars, no_bars
from cocite.protocols import Encoder
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.reuse import EncodedPapers, index_of
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.systems.baselines.cached_vectors import EncoderBaseline, cached_vectors
from cocite.systems.baselines.pooled_transformer import HUB, pooled_encoder
from cocite.systems.baselines.train import NAMES, BaselineSettings, Reads, TrainedBaselines
from cocite.systems.mp_bert4cr.encoder import MpBert4crEncoder
from cocite.systems.mp_bert4cr.sentence_memory import SentenceMemory

ALL_BASELINES = ("bm25", *NAMES, *HUB)
"""The baselines of ``--baselines all``; of these, encoders that cannot be downloaded are left out and reported."""
DEFAULT_ENCODER = "mp-bert4cr"
"""The encoder of a model folder that is measured by default."""


@dataclass(frozen=True)
class ModelFolder:
    """A model folder and the name of its rows.

    Attributes:
        folder: its path.
        label: the name; empty: the system's, or the folder's where several are measured.

    Example:
        >>> ModelFolder.parse("models/second=mpt-src")
        ModelFolder(folder=PosixPath('models/second'), label='mpt-src')
    """

    folder: Path
    label: str = ""

    @classmethod
    def parse(cls, text: str) -> ModelFolder:
        """Read ``FOLDER`` or ``FOLDER=LABEL``."""
        folder, equals, label = text.rpartition("=")
        # A folder's own name may hold an equals sign.
        if not equals or Path(text).is_dir():
            return cls(Path(text))
        return cls(Path(folder), label)


def parse_baselines(text: str) -> tuple[str, ...]:
    """The baselines of a comma-separated list, in which ``all`` stands for every one; ``none`` alone for no one.

    Example:
        >>> parse_baselines("bm25, w2v")
        ('bm25', 'w2v')
        >>> parse_baselines("none")
        ()
        >>> parse_baselines("all,model/bi-encoder")[-2:]
        ('specter', 'model/bi-encoder')
    """
    if text == "none":
        return ()
    parts = [part.strip() for part in text.split(",") if part.strip()]
    named = [name for part in parts for name in (ALL_BASELINES if part == "all" else (part,))]
    return tuple(dict.fromkeys(named))


def parse_encoder(text: str) -> tuple[str, str]:
    """Read ``ENCODER`` or ``ENCODER=LABEL``: a name or a folder, and the name of its row (empty: the encoder's own).

    Example:
        >>> parse_encoder("encoders/a/bi-encoder=SPECTER fine-tuned")
        ('encoders/a/bi-encoder', 'SPECTER fine-tuned')
        >>> parse_encoder("allenai/specter")
        ('allenai/specter', '')
    """
    # A folder's own name may hold equals signs, and so may a label.
    ends = [*(at for at, letter in enumerate(text) if letter == "="), len(text)]
    end = max((end for end in ends if Path(text[:end]).is_dir()), default=ends[0])
    return text[:end], text[end + 1 :]


@dataclass(frozen=True)
class MeasuredSystem:
    """A system to be measured: a row of the tables.

    Attributes:
        name: of the row.
        kind: of the system; rows of one kind from several folders are variants of a model.
        label: of its folder.
        open: makes it ready to rank.
        open_wide: makes it ready to rank by the manuscript's sentences too; None: it reads what it reads.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> bm25 = MeasuredSystem("BM25", "bm25", "", lambda: Bm25Baseline(lexical_index(corpus)).search)
        >>> bm25.open()([], 10).rows.shape  # no queries
        (0, 10)
    """

    name: str
    kind: str
    label: str
    open: Callable[[], Rank]
    open_wide: Callable[[], Rank] | None = None

    def reading(self, reads: Reads) -> MeasuredSystem:
        """The system that reads the context, as it is, or the manuscript too, by the name of which it says so."""
        if reads == "context" or self.open_wide is None:
            return self
        return replace(self, name=f"{self.name} + manuscript", open=self.open_wide)


class CocitationSystems:
    """Makes the systems of the tables: of model folders and of baselines.

    Args:
        corpus: papers and contexts.
        known: links that baselines, indexes and counts may use.
        saved: an index folder of the corpus, whose vectors and word statistics are reused.
        cache: folder of trained baselines and encoded papers.
        settings: of the trained baselines.
        bars: of each step.

    Attributes:
        unreachable: encoders of ``--baselines all`` that could not be downloaded.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.corpus.history import history_before
        >>> corpus = starter_corpus()
        >>> made = CocitationSystems(corpus, history_before(corpus, "dev"), None, Path("cache"), None)
        >>> [system.name for system in made.baselines(["bm25", "w2v"])]
        ['BM25 (context+title)', 'Word2Vec']
    """

    def __init__(
        self,
        corpus: Corpus,
        known: History,
        saved: Path | None,
        cache: Path,
        settings: BaselineSettings | None,
        bars: ProgressBars = no_bars,
    ) -> None:
        self.corpus, self.history, self.cache, self.bars = corpus, known, cache, bars
        self.index_folder = saved
        self.saved = open_index(saved) if saved is not None else None
        self.trained = TrainedBaselines(known, cache, settings, bar=bars)
        self._memories: dict[str, SentenceMemory] = {}
        self.unreachable: list[str] = []

    def knowing(self, known: History) -> CocitationSystems:
        """The same that know other links; these themselves where the links are the same."""
        if np.array_equal(known.citing, self.history.citing):
            return self
        settings = self.trained.settings
        return CocitationSystems(self.corpus, known, self.index_folder, self.cache, settings, self.bars)

    # -- baselines -------------------------------------------------------------------------------------------

    def baselines(self, names: Sequence[str]) -> list[MeasuredSystem]:
        """The baselines of some names; of :data:`ALL_BASELINES`, encoders that cannot be downloaded are left out.

        An encoder of another name or folder may have a label, as :func:`parse_encoder` reads it.

        Raises:
            InputError: there is no such baseline, or two rows have one name.
            NotFoundError: an encoder that was named cannot be downloaded.
        """
        rows: list[MeasuredSystem] = []
        for name in dict.fromkeys(names):
            if name == "bm25":
                title = "BM25 (context+title)"
                rows.append(MeasuredSystem(title, name, "", self._bm25, self._widened(self._bm25)))
            elif name in NAMES:
                narrow, wide = (self._trained_opener(name, reads) for reads in get_args(Reads))
                rows.append(MeasuredSystem(NAMES[name], name, "", narrow, wide))
            else:
                rows += self._pooled(name, required=tuple(names) != ALL_BASELINES)
        _refuse_duplicates(rows, "--baselines", "ENCODER=LABEL")
        return rows

    def _trained_opener(self, name: str, reads: Reads) -> Callable[[], Rank]:
        return lambda: self.trained.open(name, reads).search

    def _widened(self, open_: Callable[[], Rank]) -> Callable[[], Rank]:
        """Opens the same system, whose queries have the sentences of their manuscripts behind their contexts."""

        def opened() -> Rank:
            rank, manuscripts = open_(), self.trained.manuscripts
            return lambda queries, k: rank(manuscripts.widened(queries), k)

        return opened

    def _pooled(self, text: str, *, required: bool) -> list[MeasuredSystem]:
        name, label = parse_encoder(text)
        known = [*ALL_BASELINES, "none", "all"]
        if "/" not in name and name not in HUB and not Path(name).is_dir():
            raise InputError(
                f"no baseline is called {name!r}, and there is no such folder",
                where="--baselines",
                hint=nearest(name, known),
            )
        try:
            encoder = pooled_encoder(name)
        except NotFoundError:
            if required:
                raise
            self.unreachable.append(f"{HUB[name]} (not reached)")
            return []

        def opened() -> Rank:
            return self._dense(encoder).search

        return [MeasuredSystem(label or encoder.name, text, "", opened, self._widened(opened))]

    def _bm25(self) -> Rank:
        return Bm25Baseline(self.index if self.saved is not None else self._words).search

    @cached_property
    def _words(self) -> Index:
        with self.bars("indexing words", None):
            return lexical_index(self.corpus)

    # -- models ----------------------------------------------------------------------------------------------

    def of_folders(self, models: Sequence[ModelFolder], names: Sequence[str] | None) -> list[MeasuredSystem]:
        """Each system of each model folder.

        Args:
            models: the folders.
            names: systems; by default :data:`DEFAULT_ENCODER` where a folder has it, else all its encoders.

        Raises:
            InputError: a folder lacks a system, or two rows have one name.
        """
        rows: list[MeasuredSystem] = []
        for model in models:
            parts = components.list_components(model.folder)
            encoders = [name for name in parts if name in components.ENCODERS]
            chosen = names or ([DEFAULT_ENCODER] if DEFAULT_ENCODER in encoders else encoders)
            for name in chosen:
                self._require(model, name, encoders)
            for name in chosen:
                label = model.label or (model.folder.resolve().name if len(models) > 1 else "")
                title = f"{label}: {name}" if label and len(chosen) > 1 else label or name
                rows.append(MeasuredSystem(title, name, label, self._opener(model.folder, name, encoders)))
        _refuse_duplicates(rows, "--model", "FOLDER=LABEL")
        return rows

    def _require(self, model: ModelFolder, name: str, encoders: list[str]) -> None:
        """Refuse a system that a model folder does not have, before any system is opened."""
        if name in components.ENCODERS:
            if name not in encoders:
                raise InputError(f"holds no {name}", where=str(model.folder), hint="train it, or --train")
        else:
            systems.select(model.folder, [name], where="--systems")

    def _opener(self, folder: Path, name: str, encoders: list[str]) -> Callable[[], Rank]:
        if name in encoders:
            return lambda: self._dense(self._load(folder, name)).search
        return lambda: systems.open_system(name, folder, self._with_vectors(folder, name))

    def _load(self, folder: Path, name: str) -> Encoder:
        encoder = components.load_encoder(folder, name)
        if encoder is None:
            raise InputError(f"holds no {name}", where=str(folder))
        if isinstance(encoder, MpBert4crEncoder) and encoder.trunk is not None:
            # The models of a table have one trunk mostly, and read the same sentences.
            trunk = encoder.trunk
            trunk.memory = self._memories.setdefault(trunk.id, SentenceMemory())
        return encoder

    def _vectors(self, encoder: Encoder) -> Any:
        if self.saved is not None and self.saved.encoder_ids.get(encoder.name) == encoder.id:
            vectors = self.saved.paper_vectors(encoder.name)
            return vectors if isinstance(vectors, np.ndarray) else vectors[np.arange(len(self.corpus))]
        with self.bars(f"encoding: {encoder.name}", len(self.corpus)) as advance:
            return cached_vectors(encoder, self.corpus, self.cache, advance=advance)

    def _dense(self, encoder: Encoder) -> EncoderBaseline:
        return EncoderBaseline(encoder.name, encoder, self.corpus, self._vectors(encoder))

    @cached_property
    def index(self) -> Index | ShardedIndex:
        """Words, contexts and links as known, without vectors: each system gets those of its own encoders."""
        with self.bars("indexing", None) as advance:
            return index_of(self.corpus, self.history, saved=self.saved, advance=advance)

    def _with_vectors(self, folder: Path, name: str) -> Index | ShardedIndex:
        """The index with the vectors of the encoders that a system of a folder needs."""
        index = self.index
        for encoder in systems.encoders_for(folder, [name]):
            index = index.with_vectors(EncodedPapers(encoder.name, encoder.id, self._vectors(encoder)))
        return index


def _refuse_duplicates(rows: Sequence[MeasuredSystem], where: str, form: str) -> None:
    """Refuse rows of one name: one would take the place of the other."""
    names = [row.name for row in rows]
    for name in sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two rows are called {name!r}", where=where, hint=f"label them: {form}")
