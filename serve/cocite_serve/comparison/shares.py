"""Which requests, or which clients, belong to a share of the traffic."""

from __future__ import annotations

import hashlib


class EvenShare:
    """A share of requests, spread evenly: of any n in a row, n times the share, up to one.

    Args:
        share: from 0 to 1.

    Example:
        >>> share = EvenShare(0.4)
        >>> [share.is_next() for _ in range(5)]
        [False, False, True, False, True]
    """

    def __init__(self, share: float) -> None:
        self._share, self._due = share, 0.0

    def is_next(self) -> bool:
        """Whether the next request is one of the share."""
        self._due += self._share
        if self._due < 1:
            return False
        self._due -= 1
        return True


def has_client(share: float, client: str, experiment: str) -> bool:
    """Whether a client belongs to a share of the clients. It does so at every request, and in every process.

    Args:
        share: from 0 to 1.
        client: any name of the client's.
        experiment: whose share; in another one, other clients belong to it.

    Example:
        >>> sum(has_client(0.25, f"client-{number}", "000002") for number in range(1000))
        247
    """
    digest = hashlib.sha256(f"{experiment}\0{client}".encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64
