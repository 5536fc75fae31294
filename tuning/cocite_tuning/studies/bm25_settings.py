"""The settings of the study of BM25's parameters."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cocite.retrieval.query_forms import QueryForm
from cocite_tuning.studies.score_settings import Names, PoolSize, ScoreSettings


class Bm25StudySettings(ScoreSettings):
    """Which forms of the query and which fields of the papers BM25 is tried on.

    Example:
        >>> settings = Bm25StudySettings(fields=("text",), forms=("context", "context+title"), pool=50)
        >>> [str(form) for form in settings.forms]
        ['context', 'context+title']
    """

    kind: Literal["bm25"] = "bm25"
    forms: Annotated[tuple[QueryForm, ...], Field(max_length=100)] = ()
    """Forms of the query that are compared; by default all that the task has, those with key terms left out."""
    fields: Annotated[
        tuple[Literal["text", "title", "abstract"], ...], Field(min_length=1, max_length=100)
    ] = ("text", "title")
    """Fields of the papers that are compared."""
    pool: PoolSize = 200
    """How many of a query's best papers are kept at each extreme of k1 and b; no metric may look deeper."""
    metrics: Names = ("MRR", "R@10", "R@20", "R@100", "MAP@10")
    """The metrics of each trial."""
