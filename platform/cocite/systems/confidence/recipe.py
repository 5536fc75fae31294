"""All settings of the calibration of confidence."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cocite.bounds import Depth, Location, Seed, Threads, Total
from cocite.config import Settings


class ConfidenceRecipe(Settings):
    """To which dev queries the probabilities are fitted, and how.

    Example:
        >>> ConfidenceRecipe.parse({"kind": "confidence", "queries": 1000}, where="confidence.yaml").folds
        3
    """

    kind: Literal["confidence"] = "confidence"
    tasks: Annotated[tuple[Literal["local", "global"], ...], Field(min_length=1, max_length=2)] = (
        "local",
        "global",
    )
    """Kinds of query; one that the corpus has no examples of is reported and left out."""
    queries: Total = 3000
    """Most queries of a kind, drawn with the seed."""
    cross_encoded: Total = 600
    """Most queries of a kind whose candidates the cross-encoder reads; each costs ``rerank`` pairs."""
    depth: Depth = 300
    """Candidates of a query, as many as a request asks for by default."""
    rerank: int = Field(50, ge=2, le=1000)
    """Candidates that the cross-encoder reads, where there is one."""
    ranks: int = Field(50, ge=2, le=1000)
    """Number of best candidates of each query that get a probability."""
    candidates: Literal["older", "all"] = "older"
    """``older``: papers of the query's year and earlier, as requests ask for; ``all``: later ones too."""
    folds: int = Field(3, ge=2, le=20)
    """Parts of the manuscripts: where a fusion was trained on the dev queries, each part is scored by trees that were
    grown on the others."""
    seed: Seed = 0
    """Seed of the query sample and of the parts."""
    threads: Threads = 2
    """CPU threads that grow trees."""
    index: Location | None = None
    """Path or URI of an index of the same corpus, whose vectors and word statistics are used instead of computing
    them."""
