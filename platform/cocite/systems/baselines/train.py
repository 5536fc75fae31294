"""Trains the baselines on a history, by name, with a cache on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import model_validator
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from cocite.artifacts import publish
from cocite.bounds import Seed
from cocite.config import Settings
from cocite.corpus.history import History
from cocite.errors import CociteError, InputError, nearest
from cocite.protocols import Reranker
from cocite.systems.baselines.bert_gcn import BertGcnSettings
from cocite.systems.baselines.bert_gcn_reranker import BertGcnInputs, BertGcnReranker, train_bert_gcn
from cocite.systems.baselines.dacr import Dacr, DacrBaseline, DacrSettings, train_dacr
from cocite.systems.baselines.doc2vec import Doc2VecSettings, doc2vec
from cocite.systems.baselines.dual import Dual, DualSettings
from cocite.systems.baselines.dual_reranker import DualInputs, DualReranker, train_dual
from cocite.systems.baselines.hyperdoc2vec import HyperDoc2VecSettings, hyperdoc2vec
from cocite.systems.baselines.manuscripts import Manuscripts, ManuscriptSettings
from cocite.systems.baselines.ncn import Ncn, NcnSettings
from cocite.systems.baselines.ncn_reranker import NcnReader, NcnReranker, train_ncn
from cocite.systems.baselines.sent2vec import MeanNgrams, Sent2VecSettings, sent2vec
from cocite.systems.baselines.texts import CitingTexts
from cocite.systems.baselines.vectors import MeanWords, VectorBaseline
from cocite.systems.baselines.word2vec import Word2VecSettings, word2vec
from cocite.text.paragraph_reader import ParagraphReader, ParagraphSettings
from cocite.verification import open_verified

MP_BERT4CR = {"w2v": "Word2Vec", "d2v": "Doc2Vec", "hd2v": "HyperDoc2Vec", "dacr": "DACR"}
"""Those of MP-BERT4CR's Table 3: name -> name in tables, in the paper's order."""
NAMES = {**MP_BERT4CR, "s2v": "Sent2Vec"}
"""All that retrieve; the last is of HAtten's Table 2."""
RERANKERS = {"ncn": "NCN", "dualcon": "DualCon", "dualenh": "DualEnh", "bertgcn": "BERT-GCN"}
"""Those that order candidates, as in HAtten's Table 3: name -> name in tables."""
STARTS = {"hd2v": "d2v", "dacr": "d2v", "dualcon": "w2v", "dualenh": "w2v", "bertgcn": "w2v"}
"""Those that begin with the vectors of another one, and which."""
KIND, READER = "citation-baseline", "citation-baseline-words"
WEIGHTS = "model.safetensors"

Reads = Literal["context", "manuscript"]
"""What a query is read by: its context, or also the sentences that MP-BERT4CR reads of its manuscript."""
Bar = Callable[[str, int | None], AbstractContextManager[Callable[[int], object]]]
Arrays = dict[str, NDArray[Any]]


class BaselineSettings(Settings):
    """The settings of all trained baselines.

    Example:
        >>> BaselineSettings.parse({"w2v": {"dimension": 50}}, where="baselines.yaml").w2v.dimension
        50
    """

    reader: ParagraphSettings = ParagraphSettings(
        stop_words=False, max_abstract=400, max_context=200, vocabulary_size=200_000
    )
    """How texts are cut into numbered words."""
    w2v: Word2VecSettings = Word2VecSettings()
    d2v: Doc2VecSettings = Doc2VecSettings()
    hd2v: HyperDoc2VecSettings = HyperDoc2VecSettings()
    dacr: DacrSettings = DacrSettings()
    s2v: Sent2VecSettings = Sent2VecSettings()
    ncn: NcnSettings = NcnSettings()
    dual: DualSettings = DualSettings()
    bertgcn: BertGcnSettings = BertGcnSettings()
    reads: Reads = "context"
    """What those that retrieve read of a query. They are trained on contexts all the same."""
    manuscript: ManuscriptSettings = ManuscriptSettings()
    """Which sentences of a manuscript are read (``reads: manuscript``)."""
    seed: Seed = 0
    """Seed of all random draws."""

    @model_validator(mode="after")
    def _fitting(self) -> BaselineSettings:
        if self.d2v.dimension % self.dacr.heads:
            raise ValueError(
                f"d2v.dimension is {self.d2v.dimension}, which dacr.heads ({self.dacr.heads}) does not divide"
            )
        return self


class TrainedBaselines:
    """The baselines of one history.

    Args:
        history: whose contexts and texts they are trained on.
        cache: folder of trained baselines, also those of other histories and settings.
        settings: of the training.
        bar: makes a progress bar from a description and a total: a context manager that yields ``advance(n)``.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.protocols import Query
        >>> settings = BaselineSettings(w2v=Word2VecSettings(dimension=8, epochs=1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     history = History.all(build(Synthetic(60, seed=1), folder + "/corpus"))
        ...     word2vec_baseline = TrainedBaselines(history, Path(folder, "cache"), settings).open("w2v")
        >>> word2vec_baseline.name, word2vec_baseline.papers.shape
        ('Word2Vec', (60, 8))
    """

    def __init__(
        self,
        history: History,
        cache: Path,
        settings: BaselineSettings | None = None,
        *,
        bar: Bar | None = None,
    ) -> None:
        self.history, self.cache = history, cache
        self.settings = settings or BaselineSettings()
        self.bar: Bar = bar or (lambda *_: nullcontext(lambda _: None))

    @cached_property
    def manuscripts(self) -> Manuscripts:
        """What the settings read of manuscripts."""
        return Manuscripts(self.history.corpus, self.settings.manuscript)

    def open(self, name: str, reads: Reads | None = None) -> VectorBaseline:
        """The retriever of one of :data:`NAMES`, trained unless the cache has it.

        Args:
            name: of the baseline.
            reads: what it reads of a query; None: what the settings say.

        Raises:
            InputError: the name is unknown, or the history has no context.
        """
        if name not in NAMES:
            raise InputError(
                f"no baseline is called {name!r}", where="--baselines", hint=nearest(name, NAMES)
            )
        arrays = self._arrays(name)
        also = self.manuscripts if (reads or self.settings.reads) == "manuscript" else None
        if name == "dacr":
            model = Dacr(arrays["words.weight"], arrays["cited.weight"], self.settings.dacr.heads)
            model.load_state_dict({key: torch.from_numpy(value) for key, value in arrays.items()})
            return DacrBaseline(
                NAMES[name],
                self.history.corpus,
                self.texts.reader,
                model.eval(),
                self.settings.dacr.words,
                cosine=self.settings.dacr.cosine,
                manuscripts=also,
            )
        if name == "s2v":
            return MeanNgrams(NAMES[name], self.texts.reader, arrays["ngrams"], arrays["papers"], also)
        return MeanWords(
            NAMES[name],
            self.texts.reader,
            arrays["words"],
            arrays["papers"],
            cosine=name == "d2v" or self._own(name).cosine,
            manuscripts=also,
        )

    def open_reranker(self, name: str) -> Reranker:
        """The reranker of one of :data:`RERANKERS`, trained unless the cache has it.

        Raises:
            InputError: the name is unknown, or the history has no context.
        """
        if name not in RERANKERS:
            raise InputError(
                f"no baseline that reranks is called {name!r}",
                where="--baselines",
                hint=nearest(name, RERANKERS),
            )
        weights = {key: torch.from_numpy(value) for key, value in self._arrays(name).items()}
        if name == "ncn":
            reader = NcnReader(self.history, self.texts.reader, self.settings.ncn)
            network = Ncn(*reader.sizes, self.settings.ncn)
            network.load_state_dict(weights)
            return NcnReranker(reader, network.eval())
        if name == "bertgcn":
            vectors = self._arrays(STARTS[name])
            of_graph = BertGcnInputs(self.texts, vectors["words"], self.settings.bertgcn)
            bert_gcn = of_graph.network(vectors["papers"])
            bert_gcn.load_state_dict(weights)
            return BertGcnReranker(of_graph, bert_gcn.eval())
        inputs = DualInputs(self.texts, self.settings.dual)
        start = weights["words.weight"].numpy()
        dual = Dual(start, inputs.people.size, self.settings.dual, enhanced=name == "dualenh")
        dual.load_state_dict(weights)
        return DualReranker(RERANKERS[name], inputs, dual.eval())

    @cached_property
    def texts(self) -> CitingTexts:
        """The texts that all of them read; the cache keeps their vocabulary."""
        settings = self.settings.reader
        folder = self.cache / f"words-{self._identity(settings)}"
        try:
            open_verified(folder, kind=READER)
            return CitingTexts(self.history, ParagraphReader.load(folder, settings))
        except CociteError:
            pass  # missing or damaged: the vocabulary is made again
        with self.bar("reading contexts", None):
            texts = CitingTexts.of(self.history, settings)
        with publish(folder, kind=READER, meta={}, replace=True) as temporary:
            texts.reader.save(temporary)
        return texts

    # -- training and cache ----------------------------------------------------------------------------------

    def _arrays(self, name: str) -> Arrays:
        """The weights of a baseline, from the cache or trained."""
        used: tuple[Settings, ...] = (self.settings.reader, self._own(name))
        if name in STARTS:
            used += (getattr(self.settings, STARTS[name]),)
        folder = self.cache / f"{name}-{self._identity(*used)}"
        try:
            open_verified(folder, kind=KIND)
            arrays: Arrays = load_file(folder / WEIGHTS)
        except (CociteError, OSError, SafetensorError):
            arrays = self._train(name)
            with publish(
                folder, kind=KIND, meta={"name": {**NAMES, **RERANKERS}[name]}, replace=True
            ) as temporary:
                save_file(arrays, temporary / WEIGHTS)
        return arrays

    def _train(self, name: str) -> Arrays:
        """Train a baseline."""
        settings, seed, texts = self.settings, self.settings.seed, self.texts
        if name in ("w2v", "d2v"):
            with self.bar(f"training {NAMES[name]}", None):
                words, papers = (
                    word2vec(texts, settings.w2v, seed=seed)
                    if name == "w2v"
                    else doc2vec(texts, settings.d2v, seed=seed)
                )
            return {"words": words, "papers": papers}
        if name == "s2v":
            with self.bar(f"training {NAMES[name]}", None) as advance:
                ngrams, papers = sent2vec(texts, settings.s2v, seed=seed, advance=advance)
            return {"ngrams": ngrams, "papers": papers}
        initial = self._arrays(STARTS[name]) if name in STARTS else {}
        title, passes = {**NAMES, **RERANKERS}[name], self._own(name).epochs
        with self.bar(f"training {title}", passes * len(texts.cited.indices)) as advance:
            if name == "hd2v":
                start = initial["words"], initial["papers"]
                words, papers = hyperdoc2vec(texts, start, settings.hd2v, seed=seed, advance=advance)
                return {"words": words, "papers": papers}
            model = self._trained_network(name, initial, advance)
        return {key: value.numpy() for key, value in model.state_dict().items()}

    def _trained_network(
        self, name: str, initial: Arrays, advance: Callable[[int], object]
    ) -> torch.nn.Module:
        """Train one that is a network, from the vectors of the one that it begins with."""
        settings, texts, seed = self.settings, self.texts, self.settings.seed
        if name == "ncn":
            return train_ncn(texts, settings.ncn, seed=seed, advance=advance)
        start = initial["words"], initial["papers"]
        if name == "dacr":
            return train_dacr(texts, start, settings.dacr, seed=seed, advance=advance)
        if name == "bertgcn":
            return train_bert_gcn(texts, start, settings.bertgcn, seed=seed, advance=advance)
        enhanced = name == "dualenh"
        return train_dual(texts, start[0], settings.dual, enhanced=enhanced, seed=seed, advance=advance)

    def _own(self, name: str) -> Any:
        """The settings of a baseline."""
        return getattr(self.settings, "dual" if name in ("dualcon", "dualenh") else name)

    def _identity(self, *used: Settings) -> str:
        """Fingerprint of history, settings and seed: 16 hexadecimal digits."""
        parts = [
            self.history.corpus.version,
            hashlib.sha256(np.packbits(self.history.citing).tobytes()).hexdigest(),
        ]
        # What ranks changes no vector: one training serves the inner product and the cosine.
        parts += [
            json.dumps(settings.model_dump(mode="json", exclude={"cosine"}), sort_keys=True)
            for settings in used
        ]
        return hashlib.sha256("\n".join([*parts, str(self.settings.seed)]).encode()).hexdigest()[:16]
