"""Texts to embed or to score: what the paths ask of the stages, and what the stages say of their models."""

from __future__ import annotations

from dataclasses import dataclass

from cocite.protocols import Query


@dataclass(frozen=True)
class EmbedWork:
    """Texts, or papers of the index, whose vectors are wanted.

    Attributes:
        encoder: by its name.
        queries: the texts.
        rows: the papers, in the place of texts.
        as_papers: encode the texts as papers are encoded, not as queries.
        whole: refuse a text that is too long for the encoder, instead of cutting it.

    Example:
        >>> EmbedWork("sentence", queries=(Query("q", title="Parsing"), Query("q", title="Trees"))).items
        2
    """

    encoder: str
    queries: tuple[Query, ...] = ()
    rows: tuple[int, ...] = ()
    as_papers: bool = False
    whole: bool = False

    @property
    def items(self) -> int:
        """How many vectors are wanted."""
        return len(self.queries) + len(self.rows)


@dataclass(frozen=True)
class ScoreWork:
    """A query and texts, whose relevance to it the cross-encoder is to say.

    Attributes:
        query: of the kind that the cross-encoder reads.
        texts: r of them.
        whole: refuse a text that is too long for the model, instead of cutting it.

    Example:
        >>> len(ScoreWork(Query("q", title="Parsing"), texts=("Chart parsing", "Speech")).texts)
        2
    """

    query: Query
    texts: tuple[str, ...]
    whole: bool = False


@dataclass(frozen=True)
class EncoderFacts:
    """What is known of an encoder that is served.

    Attributes:
        name: of its vectors.
        id: fingerprint of its weights.
        dimension: d, the length of a vector.
        max_tokens: of a text that are read; None: the encoder does not say.
        encodes_papers: whether it can encode a text as papers are encoded.
        pooling: how tokens' states become a vector; ``own``: in the encoder's own way.

    Example:
        >>> EncoderFacts("sentence", "5f0c", 384, max_tokens=256, encodes_papers=True, pooling="mean").dimension
        384
    """

    name: str
    id: str
    dimension: int
    max_tokens: int | None
    encodes_papers: bool
    pooling: str = "own"


@dataclass(frozen=True)
class CrossEncoderFacts:
    """What is known of the cross-encoder that is served.

    Attributes:
        id: fingerprint of its weights.
        kind: of the queries that it was trained for, ``local`` or ``global``.
        max_tokens: of a pair that are read.
        chunk_tokens: of pairs that are read at once.
        precision: in which it computes.

    Example:
        >>> CrossEncoderFacts("5f0c", "local", 512, 1024, "fp32").kind
        'local'
    """

    id: str
    kind: str
    max_tokens: int
    chunk_tokens: int
    precision: str


@dataclass(frozen=True)
class ModelFacts:
    """The parts of a model that read texts.

    Attributes:
        encoders: whose vectors the index holds.
        cross_encoder: None where the model has none.

    Example:
        >>> ModelFacts((EncoderFacts("nnselect", "1", 50, None, False),)).default_encoder.name
        'nnselect'
    """

    encoders: tuple[EncoderFacts, ...] = ()
    cross_encoder: CrossEncoderFacts | None = None

    @property
    def default_encoder(self) -> EncoderFacts | None:
        """The sentence encoder where there is one, which reads any text; else the first; None where there is none."""
        first = self.encoders[0] if self.encoders else None
        return next((encoder for encoder in self.encoders if encoder.name == "sentence"), first)
