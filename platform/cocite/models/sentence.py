"""A public sentence encoder, as it is: papers, contexts and manuscripts as vectors without any training.

Any Hugging Face encoder whose sentence vector is the mean of its tokens' states, made a unit vector (Reimers and
Gurevych, 2019: "Sentence-BERT"). Weights are read from safetensors alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from cocite.artifacts import publish, read_json, read_manifest
from cocite.bounds import Location
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.models import trunks
from cocite.models.precision import inference_dtype
from cocite.protocols import Query
from cocite.text.gaps import strip_marks

KIND = "sentence"
WEIGHTS = "model.safetensors"
SETTINGS = "sentence.json"
TOKENS = 8192
"""Tokens of one forward pass, padding included."""


class SentenceSettings(Settings):
    """How texts are read."""

    max_tokens: int = Field(256, ge=8, le=8192)
    """Tokens of a text that are read, the special ones included; what is longer is cut."""


class SentenceRecipe(SentenceSettings):
    """Which public encoder becomes a member of a model folder. Nothing is trained."""

    kind: Literal["sentence"] = "sentence"
    encoder: Location = "sentence-transformers/all-MiniLM-L6-v2"
    """A name on the Hugging Face hub, or a folder with ``config.json``, safetensors and a tokenizer."""


class SentenceEncoder:
    """Papers and queries as vectors; a local query has two, its context's and its manuscript's.

    Args:
        model: the Hugging Face encoder.
        tokenizer: its tokenizer.
        settings: how texts are read.
        id_: see below.
        dtype: the precision to compute in; None: the quickest here.

    Attributes:
        id: fingerprint of the artifact.
        dimension: d.
        dtype: the precision it computes in; vectors are fp32 all the same.
    """

    name = "sentence"

    def __init__(
        self,
        model: torch.nn.Module,
        tokenizer: Any,
        settings: SentenceSettings,
        id_: str = "",
        *,
        dtype: torch.dtype | None = None,
    ) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.dtype = dtype or inference_dtype(self.device)
        self.model: Any = model.eval().to(self.device, self.dtype)
        self.tokenizer, self.settings, self.id = tokenizer, settings, id_

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.model.config.hidden_size)

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(n, d) unit vectors of title and abstract; zero for a paper that has neither."""
        pairs = zip(corpus.papers.take("title", rows), corpus.papers.take("abstract", rows), strict=True)
        return self.encode([_document(title or "", abstract or "") for title, abstract in pairs])

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors: of the context of a local query, of title and abstract of a global one."""
        return self.encode(
            [
                strip_marks(query.context) if query.is_local else _document(query.title, query.abstract)
                for query in queries
            ]
        )

    def encode_manuscripts(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors of the queries' titles and abstracts."""
        return self.encode([_document(query.title, query.abstract) for query in queries])

    @torch.inference_mode()
    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, d) unit vectors of texts; zero for an empty one. Texts of one length are computed together."""
        result = np.zeros((len(texts), self.dimension), np.float32)
        filled = np.array([i for i, text in enumerate(texts) if text.strip()], np.int64)
        if not len(filled):
            return result
        tokens = self.tokenizer(
            [texts[i] for i in filled],
            truncation=True,
            max_length=self.settings.max_tokens,
            return_attention_mask=False,
            return_token_type_ids=False,
        )["input_ids"]
        lengths = np.array([len(ids) for ids in tokens])
        order = np.argsort(lengths, kind="stable")
        flat = np.fromiter(chain.from_iterable(tokens[i] for i in order), np.int64, int(lengths.sum()))
        ends = np.concatenate([[0], np.cumsum(lengths[order])])
        for start, end in _batches(lengths[order]):
            mask = np.arange(lengths[order[end - 1]]) < lengths[order[start:end], None]
            ids = np.full(mask.shape, self.tokenizer.pad_token_id or 0, np.int64)
            ids[mask] = flat[ends[start] : ends[end]]
            vectors = self._forward(torch.from_numpy(ids), torch.from_numpy(mask))
            result[filled[order[start:end]]] = vectors.cpu().numpy()
        return result

    def _forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """(b, t) tokens and which of them are real -> (b, d) unit vectors in fp32."""
        ids, mask = ids.to(self.device), mask.to(self.device)
        states = self.model(input_ids=ids, attention_mask=mask.long()).last_hidden_state  # (b, t, d)
        # A unit vector forgets the scale, so the sum serves as well as the mean.
        return functional.normalize((states.float() * mask[:, :, None]).sum(1), dim=1)


def _document(title: str, abstract: str) -> str:
    return ". ".join(filter(None, (title.strip(), abstract.strip())))


def _batches(lengths: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of texts, ascending in length, whose padded batch keeps to the budget of tokens."""
    start = 0
    for i, length in enumerate(lengths.tolist()):
        if i > start and (i + 1 - start) * length > TOKENS:
            yield start, i
            start = i
    yield start, len(lengths)


# -- saving and loading --------------------------------------------------------------------------------------


def save_sentence_encoder(folder: Path, recipe: SentenceRecipe, meta: dict[str, Any]) -> None:
    """Copy a public encoder's weights and tokenizer into an artifact, so that the model folder needs nothing else.

    Raises:
        CociteError: as :func:`cocite.models.trunks.load`.
        InputError: the encoder reads fewer tokens than it is to be given.
    """
    found = trunks.load(recipe.encoder)
    limit = getattr(found.trunk.config, "max_position_embeddings", None)
    if limit is not None and recipe.max_tokens > limit:
        raise InputError(
            f"max_tokens = {recipe.max_tokens}, and the encoder reads {limit}", where=recipe.encoder
        )
    with publish(folder, kind=KIND, meta=meta, replace=True) as temporary:
        found.trunk.config.save_pretrained(temporary)
        found.tokenizer.save_pretrained(temporary)
        weights = {name: value.contiguous() for name, value in found.trunk.state_dict().items()}
        save_file(weights, temporary / WEIGHTS, {"format": "pt"})
        settings = {"max_tokens": recipe.max_tokens}
        (temporary / SETTINGS).write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def load_sentence_encoder(folder: str | Path, *, dtype: torch.dtype | None = None) -> SentenceEncoder:
    """Load the encoder of an artifact, to compute in a given precision or in the quickest one here.

    Raises:
        CociteError: no such artifact, or files that are missing, damaged or do not fit each other.
    """
    folder = Path(folder)
    manifest = read_manifest(folder, kind=KIND)
    settings = SentenceSettings.parse(read_json(folder / SETTINGS), where=str(folder / SETTINGS))
    found = trunks.load(str(folder))
    return SentenceEncoder(found.trunk, found.tokenizer, settings, manifest.digest, dtype=dtype)
