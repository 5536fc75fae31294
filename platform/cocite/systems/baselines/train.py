"""The baselines that are trained on a history, by name: made when asked for, and kept for the next time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

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
from cocite.systems.baselines.dacr import Dacr, DacrBaseline, DacrSettings, train_dacr
from cocite.systems.baselines.doc2vec import Doc2VecSettings, doc2vec
from cocite.systems.baselines.hyperdoc2vec import HyperDoc2VecSettings, hyperdoc2vec
from cocite.systems.baselines.texts import CitingTexts
from cocite.systems.baselines.vectors import MeanWords, VectorBaseline
from cocite.systems.baselines.word2vec import Word2VecSettings, word2vec
from cocite.text.paragraph_reader import ParagraphReader, ParagraphSettings
from cocite.verification import open_verified

NAMES = {"w2v": "Word2Vec", "d2v": "Doc2Vec", "hd2v": "HyperDoc2Vec", "dacr": "DACR"}
"""Name -> what it is called in tables, as the paper orders them."""
KIND, READER = "citation-baseline", "citation-baseline-words"
WEIGHTS = "model.safetensors"

Bar = Callable[[str, int | None], AbstractContextManager[Callable[[int], object]]]
Arrays = dict[str, NDArray[Any]]


class BaselineSettings(Settings):
    """Of all of them."""

    reader: ParagraphSettings = ParagraphSettings(
        stop_words=False, max_abstract=400, max_context=200, vocabulary_size=200_000
    )
    """How words are numbered."""
    w2v: Word2VecSettings = Word2VecSettings()
    d2v: Doc2VecSettings = Doc2VecSettings()
    hd2v: HyperDoc2VecSettings = HyperDoc2VecSettings()
    dacr: DacrSettings = DacrSettings()
    seed: Seed = 0
    """Of all that is drawn."""

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
        history: what they are trained on: its contexts, and the words of its texts.
        cache: folder that keeps them, beside those of other histories and settings.
        settings: of the training.
        bar: makes a progress bar from a description and a total: a context manager that yields ``advance(n)``.
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

    def open(self, name: str) -> VectorBaseline:
        """The retriever of one of :data:`NAMES`, trained now unless the cache has it.

        Raises:
            InputError: an unknown name, or nothing to train on.
        """
        if name not in NAMES:
            raise InputError(
                f"no baseline is called {name!r}", where="--baselines", hint=nearest(name, NAMES)
            )
        arrays = self._arrays(name)
        if name == "dacr":
            model = Dacr(arrays["words.weight"], arrays["cited.weight"], self.settings.dacr.heads)
            model.load_state_dict({key: torch.from_numpy(value) for key, value in arrays.items()})
            limit = self.settings.dacr.words
            return DacrBaseline(NAMES[name], self.history.corpus, self.texts.reader, model.eval(), limit)
        cosine = name == "d2v"
        return MeanWords(NAMES[name], self.texts.reader, arrays["words"], arrays["papers"], cosine=cosine)

    @cached_property
    def texts(self) -> CitingTexts:
        """What they all read."""
        settings = self.settings.reader
        place = self.cache / f"words-{self._identity(settings)}"
        try:
            open_verified(place, kind=READER)
            return CitingTexts(self.history, ParagraphReader.load(place, settings))
        except CociteError:
            pass
        with self.bar("reading contexts", None):
            texts = CitingTexts.of(self.history, settings)
        with publish(place, kind=READER, meta={}, replace=True) as temporary:
            texts.reader.save(temporary)
        return texts

    # -- making and keeping ----------------------------------------------------------------------------------

    def _arrays(self, name: str) -> Arrays:
        used: tuple[Settings, ...] = (self.settings.reader, getattr(self.settings, name))
        if name in ("hd2v", "dacr"):
            used += (self.settings.d2v,)
        place = self.cache / f"{name}-{self._identity(*used)}"
        try:
            open_verified(place, kind=KIND)
            found: Arrays = load_file(place / WEIGHTS)
        except (CociteError, OSError, SafetensorError):
            found = self._trained(name)
            with publish(place, kind=KIND, meta={"name": NAMES[name]}, replace=True) as temporary:
                save_file(found, temporary / WEIGHTS)
        return found

    def _trained(self, name: str) -> Arrays:
        settings, seed, texts = self.settings, self.settings.seed, self.texts
        if name in ("w2v", "d2v"):
            with self.bar(f"training {NAMES[name]}", None):
                words, papers = (
                    word2vec(texts, settings.w2v, seed=seed)
                    if name == "w2v"
                    else doc2vec(texts, settings.d2v, seed=seed)
                )
            return {"words": words, "papers": papers}
        begin = self._arrays("d2v")
        start = begin["words"], begin["papers"]
        passes = settings.hd2v.epochs if name == "hd2v" else settings.dacr.epochs
        with self.bar(f"training {NAMES[name]}", passes * len(texts.cited.indices)) as advance:
            if name == "dacr":
                model = train_dacr(texts, start, settings.dacr, seed=seed, advance=advance)
                return {key: value.numpy() for key, value in model.state_dict().items()}
            words, papers = hyperdoc2vec(texts, start, settings.hd2v, seed=seed, advance=advance)
            return {"words": words, "papers": papers}

    def _identity(self, *used: Settings) -> str:
        told = [
            self.history.corpus.version,
            hashlib.sha256(np.packbits(self.history.citing).tobytes()).hexdigest(),
        ]
        told += [json.dumps(part.model_dump(mode="json"), sort_keys=True) for part in used]
        return hashlib.sha256("\n".join([*told, str(self.settings.seed)]).encode()).hexdigest()[:16]
