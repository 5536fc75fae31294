"""A request to one release for another one, in whose index the same papers may be other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cocite.pipeline.options import Options
from cocite.protocols import NO_ROW, Query
from cocite_serve.http.conversion import Stamps


def moved_rows(query: Query, options: Options, to_first: Stamps, to_other: Stamps) -> tuple[Query, Options]:
    """The same request with the rows of another release's index.

    Args:
        query: with rows of the first release's index.
        options: with such rows; candidates that were chosen (``only``) stay as they are.
        to_first: the release that the request is to.
        to_other: the other one; papers that its index does not have are left out.
    """
    # Versions of two index folders may have the same name.
    if to_other.papers is to_first.papers:
        return query, options

    def moved(rows: Sequence[int]) -> tuple[int, ...]:
        if not rows:
            return ()
        found = to_other.papers.rows(to_first.papers.corpus.ids(rows))
        return tuple(int(row) for row in found if row >= 0)

    paper = moved([query.paper]) if query.paper != NO_ROW else ()
    return (
        replace(
            query,
            paper=paper[0] if paper else NO_ROW,
            exclude=moved(query.exclude),
            like=moved(query.like),
            dislike=moved(query.dislike),
        ),
        replace(options, exclude=moved(options.exclude)),
    )
