"""MP-BERT4CR as an :class:`~cocite.protocols.Encoder`, saved and loaded as an artifact."""

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
from cocite.protocols import Embedding, Query
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContextSettings
from cocite.systems.mp_bert4cr.encoder_inputs import EncoderInputs
from cocite.systems.mp_bert4cr.flops import forward_flops
from cocite.systems.mp_bert4cr.network import MpBert4cr, MpBert4crModelSettings
from cocite.systems.mp_bert4cr.trunk import SentenceTrunk, load_trunk
from cocite.text.documents import Documents
from cocite.text.sentence_texts import SentenceReader
from cocite.text.token_lists import token_runs
from cocite.verification import open_verified

KIND = "mp-bert4cr"
CONFIG, WEIGHTS = "mp-bert4cr.json", "model.safetensors"
TRUNK = "trunk"
"""Folder of the frozen trunk within an artifact."""
TOKENS = 1 << 17
"""Tokens of the documents that are embedded at a time, about."""
BLOCK = 512
"""Documents that are read together."""


class MpBert4crConfig(Settings):
    """``mp-bert4cr.json`` of an artifact.

    Example:
        >>> config = MpBert4crConfig.parse({"model": {}, "contexts": {}, "sentence_tokens": 64, "title": True})
        >>> config.contexts.body
        30
    """

    model: MpBert4crModelSettings
    contexts: DynamicContextSettings
    """Sentences that are read of a manuscript and of a paper."""
    sentence_tokens: int = Field(ge=2, le=65_535)
    """Most tokens of a sentence."""
    title: bool
    """Whether a title is read as a sentence."""


class MpBert4crEncoder:
    """Encodes papers, and manuscripts around a gap or as a whole, as MP-BERT4CR's vectors.

    The sentences that are read of a paper or a manuscript are a function of the paper's id, or of the text around the
    gap, so that the same text always has the same vector.

    Args:
        model: both encoders.
        tokenizer: a Hugging Face tokenizer.
        config: how texts are read.
        id_: see below.
        dtype: the precision to compute in; None: the fastest on this machine.
        corpus: whose rows ``Query.paper`` names; see :meth:`reading`.
        trunk: computes the sentence vectors that the model reads; None where it reads none.

    Attributes:
        id: fingerprint of the artifact.
        dimension: d.
        dtype: the precision it computes in; vectors are fp32 all the same.

    Example:
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> tokenizer = train_wordpiece(lambda: ["bm25 ranks documents well ."] * 2, 300)
        >>> shape = {"sentence_layers": 1, "document_layers": 1, "hidden": 8, "heads": 2, "inner": 16}
        >>> config = MpBert4crConfig.parse({"model": shape, "contexts": {}, "sentence_tokens": 16, "title": True})
        >>> model = MpBert4cr(config.model, len(tokenizer))
        >>> encoder = MpBert4crEncoder(model, tokenizer, config, "example", dtype=torch.float32)
        >>> encoder.encode_queries([Query("q", context="BM25 [CIT] ranks"), Query("p", title="BM25")]).shape
        (2, 8)
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
        trunk: SentenceTrunk | None = None,
    ) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.dtype = dtype or inference_dtype(self.device)
        self.model, self.tokenizer, self.config, self.id = (
            model.eval().to(self.device),
            tokenizer,
            config,
            id_,
        )
        self.corpus, self.trunk = corpus, trunk
        reader = SentenceReader(tokenizer, config.sentence_tokens)
        self.inputs = EncoderInputs(
            reader, config.contexts, title=config.title, sentences=config.model.sentences
        )

    @property
    def dimension(self) -> int:
        """d."""
        return self.config.model.hidden

    def reading(self, corpus: Corpus) -> MpBert4crEncoder:
        """The same encoder, which reads the bodies of manuscripts that are in a corpus from there."""
        return MpBert4crEncoder(
            self.model,
            self.tokenizer,
            self.config,
            self.id,
            dtype=self.dtype,
            corpus=corpus,
            trunk=self.trunk,
        )

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(n, d) unit vectors."""
        return self.embed_papers(corpus, rows).vectors

    def embed_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> Embedding:
        """What :meth:`encode_papers` returns, with its tokens and the operations of its layers."""
        read: list[Documents] = []

        def papers(numbers: NDArray[np.int64]) -> Documents:
            read.append(self.inputs.papers(corpus, rows[numbers]))
            return read[-1]

        vectors = self._encode(papers, len(rows), papers=True)
        tokens = sum(len(documents.ids) for documents in read)
        flops = sum(forward_flops(self.config.model, part) for part in read)
        if self.trunk is not None:
            flops += sum(map(self.trunk.flops, read))
        return Embedding(vectors, tokens, flops)

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors of manuscripts around the gap, or as a whole where there is none."""
        result = np.empty((len(queries), self.dimension), np.float32)
        is_local = np.array([query.is_local for query in queries], bool)
        local, whole = np.flatnonzero(is_local), np.flatnonzero(~is_local)

        def gaps(numbers: NDArray[np.int64]) -> Documents:
            return self.inputs.gaps([queries[i] for i in local[numbers]], self.corpus)

        def manuscripts(numbers: NDArray[np.int64]) -> Documents:
            return self.inputs.manuscripts([queries[i] for i in whole[numbers]])

        result[local] = self._encode(gaps, len(local), papers=False)
        result[whole] = self._encode(manuscripts, len(whole), papers=False)
        return result

    def _encode(
        self, documents: Callable[[NDArray[np.int64]], Documents], count: int, *, papers: bool
    ) -> NDArray[np.float32]:
        encode = self.model.papers if papers else self.model.manuscripts
        trunk = self.trunk

        def with_vectors(numbers: NDArray[np.int64]) -> Documents:
            found = documents(numbers)
            return found if trunk is None else trunk.read(found)

        with self._precision():
            return embed(encode, with_vectors, np.arange(count), self.dimension, self.device)

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
    """(n, d) unit vectors of many documents, in their order, about :data:`TOKENS` tokens at a time.

    Args:
        encode: computes (D, d) vectors of documents on the device.
        documents: makes documents, given their numbers.
        numbers: (n,) the documents to embed.
        dimension: d.
        device: the model's.
    """
    result = np.empty((len(numbers), dimension), np.float32)
    for start in range(0, len(numbers), BLOCK):
        read = documents(numbers[start : start + BLOCK])
        for run in token_runs(read.tokens.cpu().numpy(), TOKENS):
            vectors = encode(read.part(run).to(device)).float()
            unit = functional.normalize(vectors, dim=1)
            result[start + run.start : start + run.stop] = unit.cpu().numpy()
    return result


# -- saving and loading --------------------------------------------------------------------------------------


def save_mp_bert4cr(
    folder: Path,
    model: MpBert4cr,
    tokenizer: Any,
    config: MpBert4crConfig,
    meta: Mapping[str, Any],
    *,
    trunk: Callable[[Path], object] | None = None,
) -> None:
    """Write an artifact of both encoders; an existing one is replaced once this one is complete.

    Args:
        folder: of the artifact.
        model: both encoders.
        tokenizer: of their words.
        config: how texts are read.
        meta: of the manifest.
        trunk: writes the frozen trunk into a folder; called where the model reads one.
    """
    with publish(folder, kind=KIND, meta=dict(meta), replace=True) as temporary:
        write_settings(temporary / CONFIG, config)
        tokenizer.save_pretrained(temporary)
        save_file(weights_of(model), temporary / WEIGHTS, {"format": "pt"})
        if config.model.reads_trunk:
            if trunk is None:
                raise ValueError("the model reads a trunk, and none is given")
            trunk(temporary / TRUNK)


def load_mp_bert4cr_encoder(folder: str | Path, *, dtype: torch.dtype | None = None) -> MpBert4crEncoder:
    """Load MP-BERT4CR from a model folder (or from its ``mp-bert4cr/``).

    Args:
        folder: the model folder, or the artifact in it.
        dtype: the precision to compute in; None: the fastest on this machine.

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
    trunk = load_trunk(path / TRUNK, dtype=dtype) if config.model.reads_trunk else None
    return MpBert4crEncoder(model, tokenizer, config, manifest.digest, dtype=dtype, trunk=trunk)
