"""Which papers of interleaved answers were clicked, and so which release won: bounded, and without a word of a text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from cocite.errors import InputError, NotFoundError
from cocite_serve.comparison.sign_test import SignTest, sign_test
from cocite_serve.comparison.team_draft import TEAMS, Team

PAPERS = 200_000
"""Papers of answers that can still be clicked: the latest."""
COMPARISONS = 8
"""Pairs of releases that are remembered: the latest."""


class Pair(NamedTuple):
    """The versions of two releases that are compared.

    Example:
        >>> Pair("5f0c", "000001", "7a1d", "000001").beside_model
        '7a1d'
    """

    served_model: str
    served_index: str
    beside_model: str
    beside_index: str


@dataclass
class Comparison:
    """What is counted of two releases.

    Attributes:
        pair: their versions.
        since: when the first answer was made, in ISO 8601.
        answers: that were interleaved.
        clicks: on papers of each release; a paper of an answer counts once.
        wins: answers with more clicks on papers of that release.
        ties: answers with clicks, as many on papers of either.

    Example:
        >>> comparison = Comparison(Pair("5f0c", "000001", "7a1d", "000001"), wins={"served": 1, "beside": 3})
        >>> comparison.test().share
        0.75
    """

    pair: Pair
    since: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    answers: int = 0
    clicks: dict[Team, int] = field(default_factory=lambda: dict.fromkeys(TEAMS, 0))
    wins: dict[Team, int] = field(default_factory=lambda: dict.fromkeys(TEAMS, 0))
    ties: int = 0

    def test(self) -> SignTest:
        """Whether one of the two wins more often than by chance."""
        return sign_test(self.wins["served"], self.wins["beside"])

    def count(self, clicks: Mapping[Team, int], change: int) -> None:
        """Add (1) or take back (-1) the outcome of an answer with so many clicks on papers of each release."""
        served, beside = clicks["served"], clicks["beside"]
        if served != beside:
            self.wins["served" if served > beside else "beside"] += change
        elif served:
            self.ties += change


@dataclass
class _Answer:
    comparison: Comparison
    teams: dict[str, Team | None]
    clicked: set[str] = field(default_factory=set)
    clicks: dict[Team, int] = field(default_factory=lambda: dict.fromkeys(TEAMS, 0))


class Ledger:
    """The answers that can be clicked, and the comparisons that follow from the clicks.

    Args:
        papers: most papers of answers that are kept; the oldest answers are forgotten first, not what was counted.

    Example:
        >>> ledger = Ledger()
        >>> ledger.register("t1", Pair("5f0c", "000001", "7a1d", "000001"), {"a": "served", "b": "beside"})
        >>> ledger.credit("t1", "b"), ledger.credit("t1", "b")  # the second time changes nothing
        ('beside', None)
        >>> ledger.comparisons()[0].wins
        {'served': 0, 'beside': 1}
    """

    def __init__(self, papers: int = PAPERS) -> None:
        self._most, self._papers = papers, 0
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        self._comparisons: dict[Pair, Comparison] = {}

    def register(self, token: str, pair: Pair, teams: Mapping[str, Team | None]) -> None:
        """Note an answer before it is sent.

        Args:
            token: names it; nobody can guess another's.
            pair: the releases that it is of.
            teams: id of each paper, and the release that gave it; None: neither is credited with it.
        """
        # The last is the latest: two releases that are served again come back to it, with what was counted before.
        comparison = self._comparisons.pop(pair, None) or Comparison(pair)
        self._comparisons[pair] = comparison
        if len(self._comparisons) > COMPARISONS:
            del self._comparisons[next(iter(self._comparisons))]
        comparison.answers += 1
        self._answers[token] = _Answer(comparison, dict(teams))
        self._papers += len(teams)
        while self._papers > self._most and len(self._answers) > 1:
            _, oldest = self._answers.popitem(last=False)
            self._papers -= len(oldest.teams)

    def credit(self, token: str, paper: str) -> Team | None:
        """Count a click.

        Returns:
            The release that is credited; None: the paper was clicked before, or belongs to neither.

        Raises:
            NotFoundError: no answer has this token, or not any more.
            InputError: the answer does not have the paper.
        """
        answer = self._answers.get(token)
        if answer is None:
            raise NotFoundError("no interleaved answer has this token, or it is too old", where="token")
        if paper not in answer.teams:
            raise InputError("the answer does not have this paper", where="paper")
        team = answer.teams[paper]
        if team is None or paper in answer.clicked:
            return None
        answer.clicked.add(paper)
        answer.comparison.count(answer.clicks, -1)
        answer.clicks[team] += 1
        answer.comparison.count(answer.clicks, 1)
        answer.comparison.clicks[team] += 1
        return team

    def comparisons(self) -> list[Comparison]:
        """The comparisons, the latest first."""
        return list(reversed(self._comparisons.values()))
