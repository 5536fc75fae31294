"""The papers that a request names, as rows of the index that answers it: those it likes, dislikes and leaves out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.pipeline.seed_lists import checked_seeds
from cocite_serve.http.papers import Papers


class SeedLists(Protocol):
    """Papers that are liked, and papers that are disliked, as a request has them: by id, DOI, arXiv, ACL or S2 id.

    Example:
        >>> from cocite_serve.http.option_fields import RecommendOptions
        >>> asked: SeedLists = RecommendOptions(like=["P02-1040"])
        >>> asked.like, asked.dislike
        (['P02-1040'], [])
    """

    @property
    def like(self) -> Sequence[str]:
        """Whose like is wanted."""
        ...

    @property
    def dislike(self) -> Sequence[str]:
        """Whose like is not wanted."""
        ...


class Seeds(NamedTuple):
    """Rows of papers that are liked, and of papers that are disliked.

    Example:
        >>> Seeds((3, 8)).dislike
        ()
    """

    like: tuple[int, ...] = ()
    dislike: tuple[int, ...] = ()


NO_SEEDS = Seeds()


def has_text(asked: SeedLists, *texts: str) -> bool:
    """Whether a request asks with a text.

    Args:
        asked: the papers that it likes and dislikes.
        texts: its fields of text.

    Raises:
        InputError: it has neither a text nor a paper that it likes, but dislikes one.

    Example:
        >>> from cocite_serve.http.option_fields import RecommendOptions
        >>> liked = RecommendOptions(like=["P02-1040"])
        >>> has_text(liked, "", ""), has_text(liked, "Parsing", "")
        (False, True)
    """
    if any(texts):
        return True
    if asked.dislike and not asked.like:
        raise InputError("give a text, or papers in `like`, beside what is disliked", where="dislike")
    return not asked.like  # a request without either is refused as one without a text


def find_seeds(asked: SeedLists, papers: Papers, *, lenient: bool = False) -> Seeds:
    """The seeds of a request in an index.

    Args:
        asked: the papers that it likes and dislikes.
        papers: of the index.
        lenient: leave out papers that the index does not have, as another release than the one asked may lack them.

    Raises:
        InputError: the corpus does not have one of the ids, or one is in both lists.
    """

    def rows_of(name: str, ids: Sequence[str]) -> list[int]:
        rows: list[int] = papers.named(ids).tolist() if ids else []
        unknown = [id_ for id_, row in zip(ids, rows, strict=True) if row < 0]
        if unknown and not lenient:
            raise InputError(f"the corpus has no paper with the id {unknown[0]!r}", where=name)
        return [row for row in rows if row >= 0]

    like, dislike = rows_of("like", asked.like), rows_of("dislike", asked.dislike)
    return Seeds(*checked_seeds(like, dislike, papers.corpus.ids))


async def await_seeds(asked: SeedLists, papers: Papers, *, lenient: bool = False) -> Seeds:
    """What :func:`find_seeds` finds, looked for in a thread, as a look at all DOIs would keep other requests waiting.

    Args:
        asked, papers, lenient: as of :func:`find_seeds`.

    Raises:
        InputError: as of :func:`find_seeds`.
    """
    if not (asked.like or asked.dislike):
        return NO_SEEDS
    return await asyncio.to_thread(find_seeds, asked, papers, lenient=lenient)


async def await_rows(ids: Sequence[str], papers: Papers) -> NDArray[np.int32]:
    """(I,) rows of the papers that ids name, as in ``like``; -1 for one that the index does not have.

    Ids of the corpus are found at once, others in a thread.

    Args:
        ids: of the corpus, or in another form.
        papers: of the index.
    """
    rows = papers.rows(ids)
    others = np.flatnonzero(rows < 0)
    if len(others):
        rows[others] = await asyncio.to_thread(papers.named, [ids[at] for at in others.tolist()])
    return rows
