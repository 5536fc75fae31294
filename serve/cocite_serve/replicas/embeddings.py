"""Texts and papers whose vectors are wanted: the jobs of the retriever's queue beside searches."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.protocols import Encoder, ManuscriptEncoder, Query, require_finite
from cocite_serve.http.text_work import EmbedWork, EncoderFacts

if TYPE_CHECKING:
    from cocite.pipeline.first_stage import FirstStage


@runtime_checkable
class LimitedEncoder(Encoder, Protocol):
    """An encoder that reads so many tokens of a text, and says how many a query has.

    Example:
        >>> class Ones:
        ...     name, id, dimension, max_tokens = "ones", "1f2e", 1, 8
        ...     def encode_papers(self, corpus, rows):
        ...         return np.ones((len(rows), 1), np.float32)
        ...     def encode_queries(self, queries):
        ...         return np.ones((len(queries), 1), np.float32)
        ...     def query_lengths(self, queries):
        ...         return np.array([len(query.title.split()) for query in queries])
        >>> isinstance(Ones(), LimitedEncoder)
        True
    """

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that are read; what is longer is cut."""
        ...

    def query_lengths(self, queries: Sequence[Query]) -> NDArray[np.int64]:
        """(Q,) tokens of the queries before they are cut."""
        ...


@dataclass(eq=False)
class Embed:
    """Texts or papers that wait for their vectors.

    Example:
        >>> from cocite.protocols import Query
        >>> texts = Embed(EmbedWork("sentence", queries=(Query("q", title="Parsing"),)))
        >>> texts.group == Embed(EmbedWork("hatten", queries=(Query("q", title="Parsing"),))).group
        False
    """

    work: EmbedWork
    vectors: list[NDArray[np.float32]] = field(default_factory=list)
    """Those that are computed."""

    @property
    def group(self) -> Hashable:
        """What is encoded together: by one encoder, in one way."""
        return "embed", self.work.encoder, self.work.as_papers, self.work.whole, bool(self.work.rows)

    def costs(self, stage: FirstStage) -> NDArray[np.int64]:
        """(n,) the tokens that are read of each text, or its words where the encoder does not say; of a paper 1."""
        if self.work.rows:
            return np.ones(len(self.work.rows), np.int64)
        encoder, queries = stage.signals.encoders[self.work.encoder].encoder, self.work.queries
        if isinstance(encoder, LimitedEncoder):
            lengths = np.minimum(encoder.query_lengths(queries), encoder.max_tokens)
        else:
            texts = (f"{query.title} {query.abstract} {query.context}" for query in queries)
            lengths = np.array([len(text.split()) for text in texts], np.int64)
        return np.maximum(lengths, 1)

    @staticmethod
    def compute(stage: FirstStage, parts: Sequence[tuple[Embed, int]]) -> None:
        """Compute the next vectors of some jobs of one group: how many of each."""
        work = parts[0][0].work
        begin = [sum(map(len, job.vectors)) for job, _ in parts]
        taken = [(job.work, slice(at, at + count)) for (job, count), at in zip(parts, begin, strict=True)]
        if work.rows:
            rows = [row for each, part in taken for row in each.rows[part]]
            vectors = stage.index.paper_vectors(work.encoder)[np.array(rows, np.int64)]
        else:
            vectors = _encode(stage, work, [query for each, part in taken for query in each.queries[part]])
        require_finite(vectors, work.encoder, "vectors")
        bounds = np.cumsum([count for _, count in parts])[:-1]
        for (job, _), part in zip(parts, np.split(np.asarray(vectors, np.float32), bounds), strict=True):
            job.vectors.append(part)

    def result(self) -> NDArray[np.float32]:
        """(n, d) the vectors, in the order of the texts or papers."""
        return np.concatenate(self.vectors)


def facts_of(stage: FirstStage) -> tuple[EncoderFacts, ...]:
    """What is known of the encoders that a first stage uses."""
    return tuple(
        EncoderFacts(
            name,
            vectors.encoder.id,
            vectors.encoder.dimension,
            vectors.encoder.max_tokens if isinstance(vectors.encoder, LimitedEncoder) else None,
            isinstance(vectors.encoder, ManuscriptEncoder),
            getattr(getattr(vectors.encoder, "settings", None), "pooling", "own"),
        )
        for name, vectors in stage.signals.encoders.items()
    )


def _encode(stage: FirstStage, work: EmbedWork, queries: Sequence[Query]) -> NDArray[np.float32]:
    """(n, d) the vectors of some texts, in the way that the work says."""
    encoder = stage.signals.encoders[work.encoder].encoder
    if work.whole:
        _refuse_long(encoder, queries)
    if work.as_papers and isinstance(encoder, ManuscriptEncoder):
        return encoder.encode_manuscripts(queries)
    return encoder.encode_queries(queries)


def _refuse_long(encoder: Encoder, queries: Sequence[Query]) -> None:
    """Refuse texts of which not all tokens would be read, where the encoder can say so."""
    if isinstance(encoder, LimitedEncoder):
        lengths = encoder.query_lengths(queries)
        if (lengths > encoder.max_tokens).any():
            raise InputError(
                f"a text has {int(lengths.max()):,} tokens, and {encoder.name} reads {encoder.max_tokens:,}",
                where="texts",
                hint="let it be cut: truncate",
            )
