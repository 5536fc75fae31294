"""One list of two rankings by team draft, and which of them gave each paper.

F. Radlinski, M. Kurup and T. Joachims: How does clickthrough data reflect retrieval quality? CIKM 2008, algorithm 2. As
two captains pick players in turn: the ranking with fewer picks adds its best paper that is not in the list yet, and a
coin decides where both have as many. A click is a point for the ranking that gave the paper.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

Team = Literal["served", "beside"]
TEAMS: tuple[Team, Team] = ("served", "beside")


def team_draft(
    served: Sequence[str], beside: Sequence[str], size: int, seed: int
) -> list[tuple[str, Team | None]]:
    """One list of two rankings.

    Args:
        served: ids, best first, without duplicates.
        beside: ids of the other ranking.
        size: most ids in the list.
        seed: of the coin.

    Returns:
        Each id, and the ranking that gave it. Where one ranking has nothing left to give, the rest of the other follows
        without a team: its papers met no rival, so a click on them says nothing.

    Example:
        >>> team_draft(["a", "b", "c"], ["b", "d", "a"], size=4, seed=1)
        [('a', 'served'), ('b', 'beside'), ('c', 'served'), ('d', 'beside')]
    """
    coin = random.Random(seed)
    left = [iter(dict.fromkeys(served)), iter(dict.fromkeys(beside))]
    picks: dict[str, Team | None] = {}
    counts = [0, 0]

    def best(team: int) -> str | None:
        return next((id_ for id_ in left[team] if id_ not in picks), None)

    while len(picks) < size:
        team = coin.randrange(2) if counts[0] == counts[1] else counts.index(min(counts))
        pick = best(team)
        if pick is None:
            # The other one may have picked what this one had left, so it is its turn no more.
            rest = [id_ for id_ in left[1 - team] if id_ not in picks]
            picks |= dict.fromkeys(rest[: size - len(picks)])
            break
        picks[pick] = TEAMS[team]
        counts[team] += 1
    return list(picks.items())
