"""Making the blocks of papers' vectors; runs in a worker."""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from cocite.corpus.store import Corpus
from cocite.pipeline.components import load_encoder
from cocite.protocols import BodyReader, Encoder
from cocite.retrieval.index.documents import embed
from cocite.retrieval.index.stored_corpus import read_bodies
from cocite.retrieval.stored_vectors import block_name
from cocite_jobs.steps.embedding.effort import Effort
from cocite_jobs.steps.files import fetch_seen, open_seen, require_seen
from cocite_jobs.steps.parts import Part
from cocite_jobs.storage.location import Location

Precision = Literal["float32", "float16"]


@dataclass(frozen=True)
class Blocks:
    """The blocks of one encoder's vectors; a :class:`~cocite_jobs.steps.parts.Work`.

    Attributes:
        corpus: a store, by its path or URI, which every worker sees.
        corpus_version: of the store.
        model: a model folder, likewise.
        encoder: the name of one of its encoders.
        encoder_id: of the encoder.
        to: the folder of the blocks.
        dtype: of the stored components.

    Example:
        >>> Blocks("corpus", "12ab", "model", "nnselect", "34cd", Location.of("memory://vectors"), "float16").encoder
        'nnselect'
    """

    corpus: str
    corpus_version: str
    model: str
    encoder: str
    encoder_id: str
    to: Location
    dtype: Precision = "float32"

    def open(self) -> Callable[[Part], dict[str, Any]]:
        """Open the corpus and load the encoder.

        Raises:
            CociteError: this machine does not see them, or they are others than those that the driver opened.
        """
        encoder = load_encoder(fetch_seen(self.model), self.encoder)
        require_seen(encoder is not None and encoder.id == self.encoder_id, "model", self.model)
        assert encoder is not None
        corpus = open_seen(self.corpus, self.corpus_version, bodies=read_bodies([encoder]))
        return lambda part: self._make(corpus, encoder, part)

    def _make(self, corpus: Corpus, encoder: Encoder, part: Part) -> dict[str, Any]:
        """Encode the papers of a block, and write its file."""
        number, first, last = part.arguments
        wall, cpu = time.perf_counter(), time.process_time()
        made = embed(corpus, encoder, start=first, stop=last)
        effort = Effort.of(
            encoder, made, seconds=time.perf_counter() - wall, cpu_seconds=time.process_time() - cpu
        )
        buffer = io.BytesIO()
        np.save(buffer, made.vectors.astype(self.dtype))
        content = buffer.getvalue()
        name = block_name(number)
        self.to.write(name, content)
        entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        return {
            "file": name,
            "entry": entry,
            "rows": last - first,
            "dimension": encoder.dimension,
            "bodies": isinstance(encoder, BodyReader),
            **asdict(effort),
        }
