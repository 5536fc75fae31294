"""How the bytes, seconds and milliseconds of an index grow, fitted to the measured ones.

Bytes are in proportion to what a part holds: papers, contexts, links or words. Memory and seconds are sums of such
proportions, milliseconds powers, and words what was measured, then a power; none falls where an index holds more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cocite.retrieval.sizing.figures import MeasuredIndex

SHARD_STEPS = ("first round", "second round")
"""Steps of a query that the shards take; the others are the coordinator's."""


class Amounts(NamedTuple):
    """How much an index holds.

    Example:
        >>> Amounts(papers=1_000_000, contexts=4_000_000, links=9_000_000, words=400_000, shards=4).shard_papers
        250000.0
    """

    papers: float
    contexts: float
    links: float
    words: float
    shards: int

    @property
    def shard_papers(self) -> float:
        """Papers of a shard."""
        return self.papers / self.shards


def amounts_of(measured: MeasuredIndex) -> Amounts:
    """How much a measured index holds."""
    return Amounts(measured.papers, measured.contexts, measured.links, measured.words, measured.shards)


def of_shards(part: str) -> bool:
    """Whether a part of an index lies in its shards; the coordinator has the others."""
    return not part.startswith("corpus:") and part != "words"


def driver(part: str, amounts: Amounts) -> float:
    """What the bytes of a part are in proportion to.

    Example:
        >>> driver("corpus: contexts", Amounts(10, 40, 90, 500, 2))
        40
    """
    match part.split(": "):
        case ["corpus", "cites" | "cited_by"]:
            return amounts.links + 2 * amounts.papers  # four bytes a link, eight for where a paper's begin
        case ["corpus", "cocitations"]:
            return amounts.links + 3 * amounts.papers
        case ["corpus", "contexts"] | ["contexts" | "windows" | "whole" | "near", _]:
            return amounts.contexts
        case ["words"]:
            return amounts.words
        case ["words by shard"]:
            return amounts.words * amounts.shards
        case _:
            return amounts.papers


class Sum(NamedTuple):
    """A sum of proportions, none of them negative.

    Example:
        >>> Sum.fit([[1, 0], [0, 2]], [3, 10]).at([1, 1])
        8.0
    """

    rates: NDArray[np.float64]

    @classmethod
    def fit(cls, amounts: Sequence[Sequence[float]], values: Sequence[float]) -> Sum:
        """The least squares of relative errors over some rows."""
        from scipy.optimize import nnls

        rows, of = np.array(amounts, np.float64), np.array(values, np.float64)
        return cls(nnls(rows / of[:, None], np.ones(len(of)))[0])

    def at(self, amounts: Sequence[float]) -> float:
        """The value for some amounts."""
        return float(self.rates @ np.array(amounts, np.float64))


class Power(NamedTuple):
    """A product of powers, whose exponents lie between 0 and 1.

    Example:
        >>> law = Power.fit([[100], [10_000]], [10, 100])
        >>> round(law.at([1_000_000]))
        1000
    """

    scale: float
    exponents: NDArray[np.float64]

    @classmethod
    def fit(cls, amounts: Sequence[Sequence[float]], values: Sequence[float]) -> Power:
        """The least squares of logarithms over some rows."""
        from scipy.optimize import lsq_linear

        logs = np.log(np.array(amounts, np.float64))
        columns = np.column_stack([np.ones(len(logs)), logs])
        bounds = [-np.inf, *[0.0] * logs.shape[1]], [np.inf, *[1.0] * logs.shape[1]]
        found = lsq_linear(columns, np.log(np.array(values, np.float64)), bounds).x
        return cls(float(np.exp(found[0])), found[1:])

    def at(self, amounts: Sequence[float]) -> float:
        """The value for some amounts."""
        return float(self.scale * np.prod(np.array(amounts, np.float64) ** self.exponents))


class Vocabulary(NamedTuple):
    """How many distinct words texts have: between measured sizes on the line of their logarithms, beyond by Heaps' law.

    Attributes:
        text: logarithms of the measured bytes of text, ascending.
        words: logarithms of their distinct words.
        exponent: of Heaps' law, fitted to all of them.

    Example:
        >>> vocabulary = Vocabulary.fit([(100, 10), (10_000, 100)])
        >>> round(vocabulary.at(1_000)), round(vocabulary.at(1_000_000))
        (32, 1000)
    """

    text: NDArray[np.float64]
    words: NDArray[np.float64]
    exponent: float

    @classmethod
    def fit(cls, measured: Collection[tuple[float, float]]) -> Vocabulary:
        """From bytes of text and numbers of words; Heaps' exponent is at most 1, and 0 where one size was measured."""
        text, words = np.log(np.array(sorted(set(measured)), np.float64)).T
        law = Power.fit(np.exp(text)[:, None].tolist(), np.exp(words).tolist())
        return cls(text, words, float(law.exponents[0]) if len(text) > 1 else 0.0)

    def at(self, text: float) -> float:
        """The number of words of some bytes of text."""
        size = np.log(text)
        inside = np.clip(size, self.text[0], self.text[-1])
        return float(np.exp(np.interp(inside, self.text, self.words) + self.exponent * (size - inside)))


class Growth:
    """What an index takes, by what it holds.

    Args:
        measured: the measured indexes, at least one.

    Attributes:
        process: bytes of anonymous memory of a process before it opens anything.
        most_shards: of a measured index; each shard of more reads less than is known of these.

    Example:
        >>> from cocite.retrieval.sizing.figures import measured_indexes
        >>> growth = Growth(measured_indexes())
        >>> small, large = (growth.amounts(papers, 4 * papers, 9 * papers, 4) for papers in (10**5, 10**7))
        >>> sum(growth.part_bytes(small).values()) < sum(growth.part_bytes(large).values())
        True
    """

    def __init__(self, measured: Sequence[MeasuredIndex]) -> None:
        self.measured = measured
        self.process = float(np.median([one.before for one in measured]))
        self.most_shards = max(one.shards for one in measured)
        self._words = Vocabulary.fit([(one.text_bytes, one.words) for one in measured])
        self._memory = [
            _fit_memory(amounts, memory)
            for amounts, memory in (
                ([one.words for one in measured], [(one.before, one.with_words) for one in measured]),
                (
                    [one.contexts for one in measured],
                    [(one.with_words, one.with_contexts) for one in measured],
                ),
                ([one.papers for one in measured], [(one.with_contexts, one.opened) for one in measured]),
            )
        ]
        built = [one for one in measured if one.build_cpu_s is not None]
        seconds = [one.build_cpu_s or 0.0 for one in built]
        self._build = Sum.fit([[one.text_bytes] for one in built], seconds)
        kinds = measured[0].cpu_ms
        self._coordinator = {kind: self._fit_steps(kind, shards=False) for kind in kinds}
        self._shard = {kind: self._fit_steps(kind, shards=True) for kind in kinds}

    def _fit_steps(self, kind: str, *, shards: bool) -> Power:
        spent = [
            sum(ms for step, ms in one.cpu_ms[kind].items() if (step in SHARD_STEPS) == shards)
            / (one.shards if shards else 1)
            for one in self.measured
        ]
        amounts = [amounts_of(one) for one in self.measured]
        return Power.fit([self._asked(each) if shards else [each.papers] for each in amounts], spent)

    def _asked(self, amounts: Amounts) -> list[float]:
        """What the time of a shard depends on: its papers, and its share of what a query reads and gives."""
        return [amounts.shard_papers, min(1, 2 / min(amounts.shards, self.most_shards))]

    def amounts(self, papers: float, contexts: float, links: float, shards: int) -> Amounts:
        """How much an index of so many papers holds, its words by Heaps' law."""
        largest = self.measured[-1]
        text = papers * largest.bytes["corpus: papers"] / largest.papers
        text += contexts * largest.bytes["corpus: contexts"] / largest.contexts
        return Amounts(papers, contexts, links, self._words.at(text), shards)

    def part_bytes(self, amounts: Amounts) -> dict[str, float]:
        """Bytes on disk of each part, in all shards."""
        like = self._most_like(amounts)
        of_like = amounts_of(like)
        return {
            part: size * driver(part, amounts) / driver(part, of_like) for part, size in like.bytes.items()
        }

    def _most_like(self, amounts: Amounts) -> MeasuredIndex:
        """The largest measured index that is divided if this one is."""
        alike = [one for one in self.measured if (one.shards > 1) == (amounts.shards > 1)]
        return (alike or self.measured)[-1]

    def opened(self, amounts: Amounts) -> float:
        """Bytes of anonymous memory that the coordinator takes: vocabularies, contexts' links, authors and counts."""
        held = (amounts.words, amounts.contexts, amounts.papers)
        return sum(rate * amount for rate, amount in zip(self._memory, held, strict=True))

    def build_cpu_s(self, amounts: Amounts) -> float:
        """CPU seconds that the build takes, without vectors."""
        parts = self.part_bytes(amounts)
        return self._build.at([parts["corpus: papers"] + parts["corpus: contexts"]])

    def coordinator_ms(self, kind: str, amounts: Amounts) -> float:
        """CPU milliseconds of a query at the coordinator."""
        return self._coordinator[kind].at([amounts.papers])

    def shard_ms(self, kind: str, amounts: Amounts) -> float:
        """CPU milliseconds of both rounds of a query at one shard."""
        return self._shard[kind].at(self._asked(amounts))


def _fit_memory(amounts: Sequence[float], memory: Sequence[tuple[float, float]]) -> float:
    """Bytes that a step of opening takes for each word, context or paper.

    The least squares of the bytes themselves, so that the largest indexes decide: in the memory of a small one the
    allocator's reserves are a large share.

    Args:
        amounts: how much each measured index holds.
        memory: bytes before and after the step.
    """
    held = np.array(amounts, np.float64)
    taken = np.array([after - before for before, after in memory])
    return max(0.0, float(held @ taken / (held @ held)))
