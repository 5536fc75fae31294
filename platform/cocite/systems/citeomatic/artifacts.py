"""Citeomatic as the protocols want it: NNSelect an :class:`Encoder`, NNRank a :class:`Reranker`; saved and loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from cocite.artifacts import publish
from cocite.bounds import Dimension, Name
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.manifests import Manifest, read_json
from cocite.protocols import NO_ROW, Query, Ranking, require_finite
from cocite.systems.citeomatic.nnrank_network import NNRank, NNRankModelSettings, Pairs, shared_words
from cocite.systems.citeomatic.nnselect_network import NNSelect, WordVectors
from cocite.text.fields import TEXT, FieldEncoder, FieldSettings, shared, take
from cocite.verification import open_verified

WEIGHTS = "model.safetensors"
CACHED = 200_000
"""Corpora of up to so many papers are encoded once, when the reranker is bound; of larger ones only candidates."""
PAIRS = 65_536
"""Pairs scored at a time."""


class NNSelectConfig(Settings):
    """``config.json`` of an NNSelect artifact."""

    dimension: Dimension
    fields: FieldSettings


class NNRankConfig(Settings):
    """``config.json`` of an NNRank artifact."""

    model: NNRankModelSettings
    fields: FieldSettings
    nnselect: Name
    """Id of the encoder whose similarities it was trained on."""


class NNSelectEncoder:
    """Papers and queries as NNSelect's vectors.

    Attributes:
        id: fingerprint of weights and vocabulary.
        dimension: d.
    """

    name = "nnselect"

    def __init__(self, model: NNSelect, fields: FieldEncoder, id_: str) -> None:
        self.model, self.fields, self.id = model.eval(), fields, id_

    @property
    def dimension(self) -> int:
        """d."""
        return self.model.dimension

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(n, d) unit vectors; zero for a paper without a known word."""
        return self.model.encode(self.fields.papers(corpus, rows))

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors; zero for a query without a known word."""
        return self.model.encode(self.fields.queries(queries))


class NNRankReranker:
    """NNRank bound to a corpus and to what is known of it.

    Args:
        model: the network.
        fields: turns papers and queries into bags.
        corpus: the candidates.
        history: where in-citations come from.
        encoder: NNSelect, for the queries' vectors; needed when the model reads NNSelect's similarity.
        vectors: (N, d) NNSelect's vectors of the corpus; computed when not given.
    """

    name = "nnrank"

    def __init__(
        self,
        model: NNRank,
        fields: FieldEncoder,
        corpus: Corpus,
        history: History,
        *,
        encoder: NNSelectEncoder | None = None,
        vectors: NDArray[np.float32] | None = None,
    ) -> None:
        self.model, self.fields, self.corpus, self.history = model.eval(), fields, corpus, history
        self.encoder = encoder
        if model.settings.nnselect and encoder is None:
            raise InputError(
                "this NNRank reads NNSelect's similarity, and no NNSelect is given", where=self.name
            )
        if vectors is not None and len(vectors) != len(corpus):
            raise InputError(f"{len(vectors)} vectors for {len(corpus)} papers", where=self.name)
        self.vectors = vectors
        self.types = len(fields.vocabularies["words"])
        self.bags: Mapping[str, CSR] | None = None
        if len(corpus) <= CACHED:
            self.bags = fields.papers(corpus)
            self.refresh()
        if vectors is None and encoder is not None and model.settings.nnselect:
            rows = np.arange(len(corpus), dtype=np.int32)
            cached = encoder.fields.vocabularies["words"].types == fields.vocabularies["words"].types
            self.vectors = (
                encoder.model.encode(self.bags)
                if self.bags is not None and cached
                else encoder.encode_papers(corpus, rows)
            )

    def refresh(self) -> None:
        """Encode the papers' fields again, after the weights changed."""
        if self.bags is not None:
            self._papers = self.model.encode(self.bags, "paper")

    @torch.no_grad()
    def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        """Log-odds (Q, k) that each query cites each candidate; ``-inf`` at padding.

        They order candidates as the probabilities of the paper do, but two near 1 stay apart.
        """
        bags = self.fields.queries(queries)
        vectors = None
        if self.model.settings.nnselect and self.encoder is not None:
            vectors = self.encoder.encode_queries(queries)
        papers = np.array([query.paper for query in queries], np.int32)
        return self.score_bags(bags, vectors, papers, candidates.rows)

    @torch.no_grad()
    def score_bags(
        self,
        bags: Mapping[str, CSR],
        vectors: NDArray[np.float32] | None,
        papers: NDArray[np.int32],
        rows: NDArray[np.int32],
    ) -> NDArray[np.float32]:
        """As :meth:`score`, for queries that were encoded already.

        Args:
            bags: the queries' bags.
            vectors: (Q, d) their NNSelect vectors.
            papers: (Q,) their own rows or ``NO_ROW``: a paper's own links do not count.
            rows: (Q, k) candidates.
        """
        result = np.full(rows.shape, -np.inf, np.float32)
        units = self.model.encode(bags, "query")
        block = max(1, PAIRS // max(rows.shape[1], 1))
        for start in range(0, len(rows), block):
            part = slice(start, min(start + block, len(rows)))
            query, column = np.nonzero(rows[part] != NO_ROW)
            if not len(query):
                continue
            query = query + start
            paper = rows[query, column]
            scores = self._score_pairs(bags, units, vectors, papers, query, paper)
            require_finite(scores, self.name, "scores")
            result[query, column] = scores
        return result

    def _score_pairs(
        self,
        bags: Mapping[str, CSR],
        units: Mapping[str, torch.Tensor],
        vectors: NDArray[np.float32] | None,
        own: NDArray[np.int32],
        query: NDArray[np.int64],
        paper: NDArray[np.int32],
    ) -> NDArray[np.float32]:
        place: NDArray[np.int64] = paper.astype(np.int64)
        if self.bags is not None:
            paper_bags, paper_units = self.bags, self._papers
        else:
            distinct, place = np.unique(paper, return_inverse=True)
            paper_bags = self.fields.papers(self.corpus, distinct)
            paper_units = self.model.encode(paper_bags, "paper")
        cosine = np.zeros(len(query), np.float32)
        if vectors is not None and self.vectors is not None:
            cosine = np.einsum("pd,pd->p", vectors[query], self.vectors[paper]).astype(np.float32)
        pairs = Pairs(
            torch.from_numpy(query),
            torch.from_numpy(place),
            shared_words(bags, query, paper_bags, place, self.types)
            if self.model.settings.intersection
            else {},
            torch.from_numpy(cosine),
            torch.from_numpy(self._in_citations(own[query], paper).astype(np.float32)),
        )
        return cast(NDArray[np.float32], self.model(units, paper_units, pairs).numpy())

    def _in_citations(self, own: NDArray[np.int32], paper: NDArray[np.int32]) -> NDArray[np.int64]:
        """Known citations of each candidate, less the query's own."""
        counts = self.history.in_citations[paper].astype(np.int64)
        known = np.flatnonzero(own != NO_ROW)
        if len(known):
            counts[known] -= self.history.cites.contains(own[known], paper[known])
        return counts

    def explain(
        self, query: Query, rows: NDArray[np.int32], limit: int = 10
    ) -> list[list[tuple[str, float]]]:
        """For each candidate, the words it shares with the query and their intersection weight, heaviest first."""
        if not self.model.settings.intersection:
            return [[] for _ in rows]
        rows = np.asarray(rows, np.int32)
        left = self.fields.queries([query])
        right = (
            {f: take(self.bags[f], rows) for f in TEXT}
            if self.bags
            else self.fields.papers(self.corpus, rows)
        )
        weight = self.model.shared_weight.detach().numpy()
        words = self.fields.vocabularies["words"].types
        place, zero = np.arange(len(rows)), np.zeros(len(rows), np.int64)
        found = [shared(left[field], zero, right[field], place, self.types) for field in TEXT]
        owners, entries = (np.concatenate(column) for column in zip(*found, strict=True))
        both = CSR.build(owners, entries, len(rows))
        result = []
        for i in range(len(rows)):
            types = both[i]
            best = types[np.argsort(-weight[types], kind="stable")][:limit]
            result.append([(words[t], float(weight[t])) for t in best])
        return result


# -- saving and loading --------------------------------------------------------------------------------------


def save_nnselect(folder: Path, model: NNSelect, fields: FieldEncoder, meta: dict[str, Any]) -> None:
    """Write an NNSelect artifact; one that exists is replaced when this one is whole."""
    config = NNSelectConfig(dimension=model.dimension, fields=fields.settings)
    _save(folder, "nnselect", model, fields, config, meta)


def save_nnrank(
    folder: Path, model: NNRank, fields: FieldEncoder, meta: dict[str, Any], *, nnselect: str
) -> None:
    """Write an NNRank artifact; ``nnselect`` is the id of the encoder whose similarities it was trained on."""
    config = NNRankConfig(model=model.settings, fields=fields.settings, nnselect=nnselect)
    _save(folder, "nnrank", model, fields, config, meta)


def _save(
    folder: Path,
    kind: str,
    model: nn.Module,
    fields: FieldEncoder,
    config: Settings,
    meta: dict[str, Any],
) -> None:
    with publish(folder, kind=kind, meta=meta, replace=True) as temporary:
        (temporary / "config.json").write_text(
            json.dumps(config.model_dump(mode="json"), indent=1, sort_keys=True) + "\n", encoding="utf-8"
        )
        save_file(
            {name: value.contiguous() for name, value in model.state_dict().items()}, temporary / WEIGHTS
        )
        fields.save(temporary)


C = TypeVar("C", bound=Settings)


def _open(folder: Path, kind: str, settings: type[C]) -> tuple[Path, Manifest, C]:
    """The artifact in a model folder, or the folder itself when it is the artifact; with its configuration."""
    folder = Path(folder)
    inner = folder / kind
    folder = inner if inner.is_dir() else folder
    manifest = open_verified(folder, kind=kind)
    config = read_json(folder / "config.json")
    return folder, manifest, settings.parse(config, where=str(folder / "config.json"))


def _weights(folder: Path, model: nn.Module) -> None:
    path = folder / WEIGHTS
    try:
        model.load_state_dict(load_file(path))
    except FileNotFoundError as error:
        raise NotFoundError("no such file", where=str(path)) from error
    except (SafetensorError, RuntimeError) as error:
        message = str(error).splitlines()[0]
        raise IntegrityError(f"does not fit config and vocabulary: {message}", where=str(path)) from error
    for part in model.modules():
        if isinstance(part, WordVectors):
            part.freeze()  # a loaded model is only read: half of a single query's time was making this table


def load_encoder(folder: str | Path) -> NNSelectEncoder:
    """Load NNSelect from a model folder (or from its ``nnselect/``)."""
    path, manifest, config = _open(Path(folder), "nnselect", NNSelectConfig)
    fields = FieldEncoder.load(path, config.fields, metadata=False)
    model = NNSelect(len(fields.vocabularies["words"]), config.dimension)
    _weights(path, model)
    return NNSelectEncoder(model, fields, manifest.digest)


def load_reranker(
    folder: str | Path, corpus: Corpus, history: History, vectors: NDArray[np.float32] | None = None
) -> NNRankReranker:
    """Load NNRank from a model folder and bind it; NNSelect is taken from the same model folder.

    Args:
        folder: the model folder, or its ``nnrank/``.
        corpus, history: the candidates, and what is known of them.
        vectors: (N, d) NNSelect's vectors of the corpus; computed when not given.

    Raises:
        IntegrityError: when the NNSelect beside it is not the one it was trained with.
    """
    path, _, config = _open(Path(folder), "nnrank", NNRankConfig)
    fields = FieldEncoder.load(path, config.fields, metadata=bool(config.model.metadata))
    model = NNRank({name: len(v) for name, v in fields.vocabularies.items()}, config.model)
    _weights(path, model)
    encoder = None
    if config.model.nnselect:
        encoder = load_encoder(path.parent)
        if encoder.id != config.nnselect:
            raise IntegrityError(
                f"was trained with NNSelect {config.nnselect}, and {path.parent / 'nnselect'} is {encoder.id}",
                where=str(path),
                hint="train nnrank again",
            )
    return NNRankReranker(model, fields, corpus, history, encoder=encoder, vectors=vectors)
