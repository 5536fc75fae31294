"""MP-BERT4CR as an :class:`~cocite.protocols.Encoder`; saved and loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional
from transformers import AutoTokenizer

from cocite.artifacts import publish
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.manifests import read_json
from cocite.nn.precision import inference_dtype
from cocite.nn.weight_files import load_weights, weights_of, write_settings
from cocite.protocols import Query
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContextSettings
from cocite.systems.mp_bert4cr.network import MpBert4cr, MpBert4crModelSettings
from cocite.systems.mp_bert4cr.reading import Reading
from cocite.text.documents import Documents
from cocite.text.sentence_texts import SentenceReader
from cocite.verification import open_verified

KIND = "mp-bert4cr"
CONFIG, WEIGHTS = "mp-bert4cr.json", "model.safetensors"
BLOCK = 512
"""Documents embedded at a time."""


class MpBert4crConfig(Settings):
    """``mp-bert4cr.json`` of an artifact."""

    model: MpBert4crModelSettings
    contexts: DynamicContextSettings
    """Sentences that are read of a manuscript and of a paper."""
    sentence_tokens: int = Field(ge=2, le=65_535)
    """Tokens of a sentence at most."""
    title: bool
    """Whether a title is read as a sentence."""


class MpBert4crEncoder:
    """Papers, and manuscripts around a gap or as a whole, as MP-BERT4CR's vectors.

    Which sentences are read of a paper or of a manuscript is drawn once and for all: by the paper's id, or by the text
    around the gap.

    Args:
        model: both encoders.
        tokenizer: a Hugging Face tokenizer.
        config: what is read.
        id_: see below.
        dtype: the precision to compute in; None: the quickest here.
        corpus: whose rows ``Query.paper`` names; see :meth:`reading`.

    Attributes:
        id: fingerprint of the artifact.
        dimension: d.
        dtype: the precision it computes in; vectors are fp32 all the same.
    """

    name = "mp-bert4cr"

    def __init__(
        self,
        model: MpBert4cr,
        tokenizer: Any,
        config: MpBert4crConfig,
        id_: str = "",
        *,
        dtype: torch.dtype | None = None,
        corpus: Corpus | None = None,
    ) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.dtype = dtype or inference_dtype(self.device)
        self.model, self.tokenizer, self.config, self.id = (
            model.eval().to(self.device),
            tokenizer,
            config,
            id_,
        )
        self.corpus = corpus
        reader = SentenceReader(tokenizer, config.sentence_tokens)
        self.documents = Reading(
            reader, config.contexts, title=config.title, sentences=config.model.sentences
        )

    @property
    def dimension(self) -> int:
        """d."""
        return self.config.model.hidden

    def reading(self, corpus: Corpus) -> MpBert4crEncoder:
        """The same encoder, which finds the bodies of manuscripts that are in a corpus there."""
        return MpBert4crEncoder(
            self.model, self.tokenizer, self.config, self.id, dtype=self.dtype, corpus=corpus
        )

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(n, d) unit vectors."""
        return self._encode(lambda some: self.documents.papers(corpus, rows[some]), len(rows), papers=True)

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors of manuscripts around the gap, or as a whole where there is none."""
        result = np.empty((len(queries), self.dimension), np.float32)
        is_local = np.array([query.is_local for query in queries], bool)
        local, whole = np.flatnonzero(is_local), np.flatnonzero(~is_local)

        def gaps(some: NDArray[np.int64]) -> Documents:
            return self.documents.gaps([queries[i] for i in local[some]], self.corpus)

        def manuscripts(some: NDArray[np.int64]) -> Documents:
            return self.documents.manuscripts([queries[i] for i in whole[some]])

        result[local] = self._encode(gaps, len(local), papers=False)
        result[whole] = self._encode(manuscripts, len(whole), papers=False)
        return result

    def _encode(
        self, documents: Callable[[NDArray[np.int64]], Documents], count: int, *, papers: bool
    ) -> NDArray[np.float32]:
        encode = self.model.papers if papers else self.model.manuscripts
        with self._precision():
            return embed(encode, documents, np.arange(count), self.dimension, self.device)

    def _precision(self) -> AbstractContextManager[Any]:
        if self.dtype == torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, self.dtype)


@torch.no_grad()
def embed(
    encode: Callable[[Documents], Tensor],
    documents: Callable[[NDArray[np.int64]], Documents],
    numbers: NDArray[np.int64],
    dimension: int,
    device: torch.device,
) -> NDArray[np.float32]:
    """(n, d) unit vectors of many documents, a block at a time.

    Args:
        encode: documents on the device to (D, d) vectors.
        documents: makes documents of their numbers.
        numbers: (n,) which.
        dimension: d.
        device: the model's.
    """
    result = np.empty((len(numbers), dimension), np.float32)
    for start in range(0, len(numbers), BLOCK):
        some = numbers[start : start + BLOCK]
        vectors = encode(documents(some).to(device)).float()
        result[start : start + len(some)] = functional.normalize(vectors, dim=1).cpu().numpy()
    return result


# -- saving and loading --------------------------------------------------------------------------------------


def save_mp_bert4cr(
    folder: Path, model: MpBert4cr, tokenizer: Any, config: MpBert4crConfig, meta: Mapping[str, Any]
) -> None:
    """Write an artifact of both encoders; one that exists is replaced when this one is whole."""
    with publish(folder, kind=KIND, meta=dict(meta), replace=True) as temporary:
        write_settings(temporary / CONFIG, config)
        tokenizer.save_pretrained(temporary)
        save_file(weights_of(model), temporary / WEIGHTS, {"format": "pt"})


def load_mp_bert4cr_encoder(folder: str | Path, *, dtype: torch.dtype | None = None) -> MpBert4crEncoder:
    """Load MP-BERT4CR from a model folder (or from its ``mp-bert4cr/``).

    Args:
        folder: where it is.
        dtype: the precision to compute in; None: the quickest here.

    Raises:
        CociteError: no such artifact, or files that are missing, damaged or do not fit each other.
    """
    path = Path(folder)
    path = path / KIND if (path / KIND).is_dir() else path
    manifest = open_verified(path, kind=KIND)
    config = MpBert4crConfig.parse(read_json(path / CONFIG), where=str(path / CONFIG))
    tokenizer = AutoTokenizer.from_pretrained(str(path))
    model = MpBert4cr(config.model, len(tokenizer))
    load_weights(model, path / WEIGHTS)
    return MpBert4crEncoder(model, tokenizer, config, manifest.digest, dtype=dtype)
