"""HAtten as an :class:`~cocite.protocols.Encoder`, saved and loaded as an artifact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from cocite.artifacts import publish
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError, NotFoundError
from cocite.manifests import read_json
from cocite.nn.precision import inference_dtype
from cocite.nn.weight_files import write_settings
from cocite.protocols import Embedding, Query
from cocite.systems.hatten.flops import forward_flops
from cocite.systems.hatten.network import Documents, Hatten, HattenModelSettings, pack
from cocite.text.paragraph_reader import ParagraphReader, ParagraphSettings
from cocite.text.paragraphs import Paragraphs
from cocite.text.token_lists import token_runs
from cocite.verification import open_verified

KIND = "hatten"
WEIGHTS = "model.safetensors"
TOKENS = 1 << 18
"""Words of the documents that are embedded at a time, about: as many as 2,000 abstracts have."""
BLOCK = 16_384
"""Documents that are looked at together."""


class HattenConfig(Settings):
    """``config.json`` of a HAtten artifact.

    Example:
        >>> config = HattenConfig.parse({"model": {"dimension": 100}, "paragraphs": {}})
        >>> config.model.dimension, config.paragraphs.max_context
        (100, 120)
    """

    model: HattenModelSettings
    paragraphs: ParagraphSettings


class HattenEncoder:
    """Encodes papers and queries as HAtten's vectors; a query may have a context or none.

    Args:
        model: the network.
        reader: numbers the words.
        id_: see below.
        dtype: the precision to compute in; None: the fastest on this machine.

    Attributes:
        id: fingerprint of weights and vocabulary.
        dimension: d.
        dtype: the precision it computes papers in; vectors are fp32 all the same. On a CPU queries are computed in
            fp32: one alone has too few words for another precision to pay.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> reader = ParagraphReader.build(History.all(corpus), ParagraphSettings(), bodies=False)
        >>> model = Hatten(reader.size, HattenModelSettings(dimension=20, feed_forward=40))
        >>> encoder = HattenEncoder(model, reader, "example", dtype=torch.float32)
        >>> encoder.encode_queries([Query("q", context="as BM25 [CIT] showed"), Query("p", title="BM25")]).shape
        (2, 20)
    """

    name = "hatten"

    def __init__(
        self, model: Hatten, reader: ParagraphReader, id_: str, *, dtype: torch.dtype | None = None
    ) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.dtype = dtype or inference_dtype(self.device)
        self.model, self.reader, self.id = model.eval().to(self.device), reader, id_

    @property
    def dimension(self) -> int:
        """d."""
        return self.model.settings.dimension

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(n, d) unit vectors."""
        return self.embed_papers(corpus, rows).vectors

    def embed_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> Embedding:
        """What :meth:`encode_papers` returns, with its words and the operations that they took."""
        result = np.empty((len(rows), self.dimension), np.float32)
        tokens, flops = 0, 0.0
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK]
            fields = self.reader.papers(corpus, block)
            result[start : start + len(block)] = self._encode(fields, query=False)
            lengths = np.stack([paragraphs.lengths for paragraphs in fields])
            tokens, flops = tokens + int(lengths.sum()), flops + self._flops(lengths)
        return Embedding(result, tokens, flops)

    def _flops(self, lengths: NDArray[np.int64]) -> float:
        """Operations for papers whose titles and abstracts have (2, n) words."""
        model = self.model.settings
        bag = 2.0 * model.dimension * float(lengths.sum()) * model.bag
        attends = model.attention and (not model.bag or bool(self.model.gate))
        return bag + (forward_flops(model, lengths[lengths > 0], (lengths > 0).sum(0)) if attends else 0.0)

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors."""
        return self._encode(self.reader.queries(queries), query=True)

    def _encode(self, fields: Sequence[Paragraphs], *, query: bool) -> NDArray[np.float32]:
        count = len(fields[0])
        parts = np.full((count, 3), -1, np.int64)
        for kind in range(len(fields)):
            parts[:, kind] = np.arange(count) + kind * count
        paragraphs = Paragraphs.joined(fields)
        lengths = np.sum([field.lengths for field in fields], axis=0)
        with self._precision(query=query):
            return embed(
                self.model,
                lambda numbers: pack(
                    paragraphs, parts[numbers], np.full(len(numbers), query), self.model.settings
                ),
                lambda numbers: lengths[numbers],
                np.arange(count),
                self.dimension,
                self.device,
            )

    def _precision(self, *, query: bool) -> AbstractContextManager[Any]:
        if self.dtype == torch.float32 or (query and self.device.type == "cpu"):
            return nullcontext()
        return torch.autocast(self.device.type, self.dtype)


@torch.no_grad()
def embed(
    model: nn.Module,
    documents: Callable[[NDArray[np.int64]], Documents],
    lengths: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    numbers: NDArray[np.int64],
    dimension: int,
    device: torch.device,
    *,
    into: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """(n, d) vectors of many documents, in their order, about :data:`TOKENS` words at a time.

    They are not sorted by length: neighbours often share paragraphs, which are read once.

    Args:
        model: the network, in evaluation mode.
        documents: packs documents, given their numbers.
        lengths: the words of documents, likewise.
        numbers: (n,) the documents to embed.
        dimension: d.
        device: the model's.
        into: (n, d) what they are written into and is returned; None: this process' memory.
    """
    result = np.empty((len(numbers), dimension), np.float32) if into is None else into
    for start in range(0, len(numbers), BLOCK):
        block = numbers[start : start + BLOCK]
        for run in token_runs(lengths(block), TOKENS):
            vectors = model(documents(block[run]).to(device)).float().cpu().numpy()
            result[start + run.start : start + run.stop] = vectors
    return result


def save_hatten(folder: Path, model: Hatten, reader: ParagraphReader, meta: Mapping[str, Any]) -> None:
    """Write a HAtten artifact; an existing one is replaced once this one is complete.

    Word vectors are stored in half precision: their components are near 1, and the vector of a document is a sum of
    many of them.
    """
    config = HattenConfig(model=model.settings, paragraphs=reader.settings)
    weights = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    # The table of words is nearly the whole file.
    weights["words.weight"] = weights["words.weight"].half()
    with publish(folder, kind=KIND, meta=dict(meta), replace=True) as temporary:
        write_settings(temporary / "config.json", config)
        save_file(weights, temporary / WEIGHTS)
        reader.save(temporary)


def load_hatten_encoder(folder: str | Path, *, dtype: torch.dtype | None = None) -> HattenEncoder:
    """Load HAtten from a model folder (or from its ``hatten/``).

    Args:
        folder: the model folder, or the artifact in it.
        dtype: the precision to compute in; None: the fastest on this machine.

    Raises:
        NotFoundError: the artifact has no weights.
        IntegrityError: the weights do not fit the configuration and the vocabulary.
    """
    path = Path(folder)
    path = path / KIND if (path / KIND).is_dir() else path
    manifest = open_verified(path, kind=KIND)
    config = HattenConfig.parse(read_json(path / "config.json"), where=str(path / "config.json"))
    reader = ParagraphReader.load(path, config.paragraphs)
    model = Hatten(reader.size, config.model)
    try:
        weights = load_file(path / WEIGHTS)
        model.load_state_dict({name: value.float() for name, value in weights.items()})
    except FileNotFoundError as error:
        raise NotFoundError("no such file", where=str(path / WEIGHTS)) from error
    except (SafetensorError, RuntimeError) as error:
        message = str(error).splitlines()[0]
        raise IntegrityError(
            f"does not fit config and vocabulary: {message}", where=str(path / WEIGHTS)
        ) from error
    return HattenEncoder(model, reader, manifest.digest, dtype=dtype)
