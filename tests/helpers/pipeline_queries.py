"""Queries for the papers of a synthetic corpus."""

from __future__ import annotations

import numpy as np

from cocite.corpus.store import Corpus
from cocite.protocols import Query


def queries_of(corpus: Corpus, rows: list[int], *, context: bool) -> list[Query]:
    """A query for each paper: its first context, or its title and abstract."""
    result = []
    for row in rows:
        paper = corpus.paper(row)
        text = ""
        if context:
            place = int(np.flatnonzero(corpus.context_citing == row)[0])
            text = corpus.contexts.take("text", [place])[0]
        result.append(
            Query(
                f"{row}", text, paper.title, paper.abstract, paper.year, paper.authors, paper.venue, paper=row
            )
        )
    return result
