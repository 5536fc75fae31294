"""NNRank as a reranker, bound to a corpus and what is known of it; its artifact, written and loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from cocite.bounds import Name
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError
from cocite.protocols import NO_ROW, PaperVectors, Query, Ranking, require_finite
from cocite.systems.citeomatic.model_files import load_weights, open_network, save_network
from cocite.systems.citeomatic.nnrank.network import NNRank, NNRankModelSettings, Pairs, shared_words
from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder, load_encoder
from cocite.text.fields import FieldEncoder, FieldSettings

KIND = "nnrank"
CACHED = 200_000
"""Corpora of up to so many papers are encoded once, when the reranker is bound; of larger ones only candidates."""
PAIRS = 65_536
"""Pairs scored at a time."""


class NNRankConfig(Settings):
    """``config.json`` of an NNRank artifact.

    Example:
        >>> NNRankConfig.parse({"model": {"authors": True}, "fields": {}, "nnselect": "5f0c"}).model.metadata
        ('authors',)
    """

    model: NNRankModelSettings
    fields: FieldSettings
    nnselect: Name
    """Id of the encoder whose similarities it was trained on."""


class NNRankReranker:
    """NNRank bound to a corpus and to what is known of it.

    Args:
        model: the network.
        fields: turns papers and queries into bags.
        corpus: the candidates.
        history: where in-citations come from.
        encoder: NNSelect, for the queries' vectors; needed when the model reads NNSelect's similarity.
        vectors: (N, d) NNSelect's vectors of the corpus; computed when not given.

    Raises:
        InputError: the model reads NNSelect's similarity and there is no encoder, or the vectors are of another corpus.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> history = History.all(corpus)
        >>> fields = FieldEncoder.build(history, FieldSettings())
        >>> settings = NNRankModelSettings(dimension=8, nnselect=False)
        >>> model = NNRank({name: len(v) for name, v in fields.vocabularies.items()}, settings)
        >>> reranker = NNRankReranker(model, fields, corpus, history)
        >>> candidates = Ranking(np.array([[7, 12, NO_ROW]], np.int32), np.zeros((1, 3), np.float32))
        >>> np.isfinite(reranker.score([Query("q", title="citation recommendation")], candidates)).tolist()
        [[True, True, False]]
    """

    name = KIND

    def __init__(
        self,
        model: NNRank,
        fields: FieldEncoder,
        corpus: Corpus,
        history: History,
        *,
        encoder: NNSelectEncoder | None = None,
        vectors: PaperVectors | None = None,
    ) -> None:
        self.model, self.fields, self.corpus, self.history = model.eval(), fields, corpus, history
        self.encoder = encoder
        if model.settings.nnselect and encoder is None:
            raise InputError(
                "this NNRank reads NNSelect's similarity, and no NNSelect is given", where=self.name
            )
        if vectors is not None and len(vectors) != len(corpus):
            raise InputError(f"{len(vectors)} vectors for {len(corpus)} papers", where=self.name)
        self.vectors: PaperVectors | None = vectors
        self.types = len(fields.vocabularies["words"])
        self.bags: Mapping[str, CSR] | None = None
        if len(corpus) <= CACHED:
            self.bags = fields.papers(corpus)
            self.refresh()
        if vectors is None and encoder is not None and model.settings.nnselect:
            rows = np.arange(len(corpus), dtype=np.int32)
            # Trained on the same history, both networks number words alike, and the bags serve both.
            cached = (
                not encoder.model.reads_order
                and encoder.fields.vocabularies["words"].types == fields.vocabularies["words"].types
            )
            self.vectors = (
                encoder.model.encode(self.bags)
                if self.bags is not None and cached
                else encoder.encode_papers(corpus, rows)
            )

    def refresh(self) -> None:
        """Encode the papers' fields again, after the weights have changed."""
        if self.bags is not None:
            self._papers = self.model.encode(self.bags, "paper")

    @torch.no_grad()
    def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        """Log-odds (Q, k) that each query cites each candidate; ``-inf`` at padding.

        They order candidates as the probabilities of the paper do, but two probabilities near 1 stay apart.
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
        """Score candidates as :meth:`score` does, for queries that are already encoded.

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
        """Log-odds (P,) of the pairs of some queries (their positions) and papers (their rows)."""
        position: NDArray[np.int64] = paper.astype(np.int64)
        if self.bags is not None:
            paper_bags, paper_units = self.bags, self._papers
        else:
            distinct, position = np.unique(paper, return_inverse=True)
            paper_bags = self.fields.papers(self.corpus, distinct)
            paper_units = self.model.encode(paper_bags, "paper")
        cosine = np.zeros(len(query), np.float32)
        if vectors is not None and self.vectors is not None:
            cosine = np.einsum("pd,pd->p", vectors[query], self.vectors[paper]).astype(np.float32)
        pairs = Pairs(
            torch.from_numpy(query),
            torch.from_numpy(position),
            shared_words(bags, query, paper_bags, position, self.types)
            if self.model.settings.intersection
            else {},
            torch.from_numpy(cosine),
            torch.from_numpy(self._in_citations(own[query], paper).astype(np.float32)),
        )
        device = self.model.shared_weight.device
        scores: NDArray[np.float32] = self.model(units, paper_units, pairs.to(device)).cpu().numpy()
        return scores

    def _in_citations(self, own: NDArray[np.int32], paper: NDArray[np.int32]) -> NDArray[np.int64]:
        """Known citations of each candidate, less the query's own."""
        counts = self.history.in_citations[paper].astype(np.int64)
        known = np.flatnonzero(own != NO_ROW)
        if len(known):
            counts[known] -= self.history.cites.contains(own[known], paper[known])
        return counts


def save_nnrank(
    folder: Path, model: NNRank, fields: FieldEncoder, meta: Mapping[str, Any], *, nnselect: str
) -> None:
    """Write an NNRank artifact; one that exists is replaced when this one is whole.

    Args:
        folder: of the artifact.
        model: the network.
        fields: its vocabularies.
        meta: further entries of the manifest.
        nnselect: id of the encoder whose similarities the network was trained on.
    """
    config = NNRankConfig(model=model.settings, fields=fields.settings, nnselect=nnselect)
    save_network(folder, KIND, model, fields, config, meta)


def load_reranker(
    folder: str | Path,
    corpus: Corpus,
    history: History,
    vectors: PaperVectors | None = None,
    *,
    encoder: NNSelectEncoder | None = None,
) -> NNRankReranker:
    """Load NNRank from a model folder and bind it.

    Args:
        folder: the model folder, or its ``nnrank/``.
        corpus: the candidates.
        history: the links that are known.
        vectors: (N, d) NNSelect's vectors of the corpus; computed when not given.
        encoder: NNSelect; loaded from the same model folder when not given.

    Raises:
        IntegrityError: the NNSelect is not the one it was trained with.
    """
    path, _, config = open_network(Path(folder), KIND, NNRankConfig)
    fields = FieldEncoder.load(path, config.fields, metadata=bool(config.model.metadata))
    model = NNRank({name: len(v) for name, v in fields.vocabularies.items()}, config.model)
    load_weights(path, model)
    if config.model.nnselect:
        encoder = encoder or load_encoder(path.parent)
        if encoder.id != config.nnselect:
            raise IntegrityError(
                f"was trained with NNSelect {config.nnselect}, and {path.parent / 'nnselect'} is {encoder.id}",
                where=str(path),
                hint="train nnrank again",
            )
    return NNRankReranker(model, fields, corpus, history, encoder=encoder, vectors=vectors)
