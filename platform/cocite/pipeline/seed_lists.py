"""The lists of papers that a query likes and dislikes, as they come from a user."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cocite.errors import InputError

MOST = 50
"""Papers that a user may like, and dislike."""


def checked_seeds(
    like: Sequence[int], dislike: Sequence[int], ids: Callable[[Sequence[int]], Sequence[str]]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The seeds of a query, each once.

    Args:
        like: rows.
        dislike: rows.
        ids: of some rows, for the message.

    Raises:
        InputError: a paper is in both lists, or a list is longer than :data:`MOST`.

    Example:
        >>> checked_seeds([3, 8, 3], [5], ids=list)
        ((3, 8), (5,))
        >>> checked_seeds([3], [5, 3], ids=lambda rows: [f"paper-{row}" for row in rows])
        Traceback (most recent call last):
        ...
        cocite.errors.InputError: dislike: 'paper-3' is liked, too (give it in one of the two lists)
    """
    liked, disliked = tuple(dict.fromkeys(like)), tuple(dict.fromkeys(dislike))
    for name, rows in (("like", liked), ("dislike", disliked)):
        if len(rows) > MOST:
            raise InputError(f"at most {MOST} papers are allowed, got {len(rows):,}", where=name)
    both = [row for row in disliked if row in liked]
    if both:
        raise InputError(
            f"{ids(both)[0]!r} is liked, too", where="dislike", hint="give it in one of the two lists"
        )
    return liked, disliked
