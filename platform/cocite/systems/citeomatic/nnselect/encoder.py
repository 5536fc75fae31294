"""NNSelect as an encoder: papers and queries as vectors; its artifact, written and loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import SerializerFunctionWrapHandler, model_serializer

from cocite.bounds import Dimension
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.protocols import Embedding, Query
from cocite.systems.citeomatic.model_files import load_weights, open_network, save_network
from cocite.systems.citeomatic.nnselect.network import NNSelect
from cocite.systems.citeomatic.nnselect.text_encoders import TextEncoderKind, Window
from cocite.text.fields import FieldEncoder, FieldSettings

KIND = "nnselect"


class NNSelectConfig(Settings):
    """``config.json`` of an NNSelect artifact.

    Example:
        >>> NNSelectConfig.parse({"dimension": 300, "fields": {"max_abstract": 200}}).fields.max_abstract
        200
    """

    dimension: Dimension
    fields: FieldSettings
    encoder: TextEncoderKind = "bag"
    window: Window = 3

    @model_serializer(mode="wrap")
    def _as_before(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Bags are written as versions wrote them that knew nothing else: their artifacts stay what they were."""
        data: dict[str, Any] = dump(self)
        return {key: data[key] for key in ("dimension", "fields")} if self.encoder == "bag" else data


class NNSelectEncoder:
    """Papers and queries as NNSelect's vectors.

    Attributes:
        id: fingerprint of weights and vocabulary.
        dimension: d.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> fields = FieldEncoder.build(History.all(corpus), FieldSettings())
        >>> encoder = NNSelectEncoder(NNSelect(len(fields.vocabularies["words"]), 16), fields, "untrained")
        >>> papers = encoder.encode_papers(corpus, np.arange(5, dtype=np.int32))
        >>> papers.shape, float(encoder.encode_queries([Query("q", title=corpus.paper(3).title)])[0] @ papers[3]) > 0.1
        ((5, 16), True)
    """

    name = KIND

    def __init__(self, model: NNSelect, fields: FieldEncoder, id_: str) -> None:
        self.model, self.fields, self.id = model.eval(), fields, id_

    @property
    def dimension(self) -> int:
        """d."""
        return self.model.dimension

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(n, d) unit vectors; zero for a paper without a known word."""
        return self.embed_papers(corpus, rows).vectors

    def embed_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> Embedding:
        """What :meth:`encode_papers` returns, with the known words that were read and the operations on them."""
        if self.model.reads_order:
            texts = self.fields.paper_sequences(corpus, rows)
            words = sum(int(lists.counts.sum()) for lists in texts.values())
            return Embedding(self.model.encode(texts), words, 2.0 * self.model.multiplications * words)
        bags = self.fields.papers(corpus, rows)
        words = sum(len(bag.indices) for bag in bags.values())
        return Embedding(self.model.encode(bags), words, 2.0 * self.model.multiplications * words)

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors; zero for a query without a known word."""
        if self.model.reads_order:
            return self.model.encode(self.fields.query_sequences(queries))
        return self.model.encode(self.fields.queries(queries))


def save_nnselect(folder: Path, model: NNSelect, fields: FieldEncoder, meta: Mapping[str, Any]) -> None:
    """Write an NNSelect artifact; one that exists is replaced when this one is whole."""
    config = NNSelectConfig(
        dimension=model.dimension, fields=fields.settings, encoder=model.encoder_kind, window=model.window
    )
    save_network(folder, KIND, model, fields, config, meta)


def load_encoder(folder: str | Path) -> NNSelectEncoder:
    """Load NNSelect from a model folder, or from its ``nnselect/``."""
    path, manifest, config = open_network(Path(folder), KIND, NNSelectConfig)
    fields = FieldEncoder.load(path, config.fields, metadata=False)
    types = len(fields.vocabularies["words"])
    model = NNSelect(types, config.dimension, encoder=config.encoder, window=config.window)
    load_weights(path, model)
    return NNSelectEncoder(model, fields, manifest.digest)
