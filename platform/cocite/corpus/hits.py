"""The hits of rules in a share of a source: recorded where it is read, and reported where all shares come together.

Whether a paper's id is a repeated one is known only there, and so is the number of the lines before a share. So a share
keeps its hits in the order of its records, and the import's log receives them in the order of the source.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from cocite.corpus.rule_log import LISTED, SAMPLES, RuleLog
from cocite.corpus.rules import RULES
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError

UNKNOWN = "unknown_field"
"""The rule of fields that a format does not have, whose hits are added up by the fields' names."""


@dataclass(slots=True)
class Hit:
    """A hit of a rule, or several equal ones of one record.

    Example:
        >>> from cocite.corpus.hits import Hit
        >>> from cocite.corpus.rule_log import RuleLog
        >>> log = RuleLog()
        >>> Hit(0, "empty_title", "the paper has no title", "papers.jsonl", 7).report(log)
        >>> log.why_empty()
        '1 rejected, 1 by the rule empty_title (the first: papers.jsonl:7: the paper has no title)'
    """

    sequence: int
    """Place of its record among those of the share."""
    rule: str
    reason: str
    file: str = ""
    line: int = 0
    details: dict[str, Any] = field(default_factory=dict)
    """Further entries of a sample."""
    owner: int = -1
    """Row in the share of the paper whose links were looked at: the hit does not count where its id is a repeated one;
    -1: it always counts."""
    times: int = 1
    """How many hits there are, each of which is listed."""
    more: int = 0
    """How many further ones there are, which are counted alone."""
    number: int = -1
    """Of the context whose id is in the details, where that id was made of a number; -1: there is none."""

    def moved(self, lines: int, numbers: int) -> Self:
        """Place the hit in the whole source, which has so many lines and numbered contexts before its share."""
        if self.line:
            self.line += lines
        end = f"/{self.number}"
        if self.number >= 0 and str(self.details.get("id", "")).endswith(end):
            self.number += numbers
            self.details["id"] = f"{self.details['id'].removesuffix(end)}/{self.number}"
        return self

    def report(self, log: RuleLog) -> None:
        """Count it in the log of the import.

        Raises:
            InputError: the log is strict, and so is the rule.
        """
        position = SourcePosition(self.file, self.line)
        if self.rule == UNKNOWN:
            log.report_unknown_fields(self.details["kind"], [self.details["name"]], position, self.more)
            return
        for _ in range(self.times):
            log.report(self.rule, self.reason, position, **self.details)
        log.add(self.rule, self.more)


class StrictHitError(InputError):
    """A strict import has met its first bad record, which the last hit of the share describes.

    Example:
        >>> str(StrictHitError("a record breaks a rule"))
        'a record breaks a rule'
    """


class ShareLog:
    """Records the hits of a share's records.

    Args:
        strict: raise at the first hit of a strict rule.

    Attributes:
        hits: in the order of the records.
        sequence: place of the record that is looked at.
        owner: of the hits that follow, see :class:`Hit`.
        number: likewise.

    Example:
        >>> from cocite.corpus.hits import ShareLog
        >>> from cocite.corpus.streams import SourcePosition
        >>> log = ShareLog()
        >>> for _ in range(3):
        ...     log.report("self_citation", "the paper cites itself", SourcePosition("papers.jsonl", 7), id="a")
        >>> [(hit.line, hit.times) for hit in log.hits]
        [(7, 3)]
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.hits: list[Hit] = []
        self.sequence = 0
        self.owner = -1
        self.number = -1
        self._listed: dict[str, int] = {}
        self._last: dict[str, Hit] = {}
        self._unknown: dict[tuple[str, str], Hit] = {}

    def report(self, rule: str, reason: str, position: SourcePosition, **details: Any) -> None:
        """Record one hit; see :meth:`cocite.corpus.rule_log.RuleLog.report` for the arguments.

        Raises:
            StrictHitError: the log is strict, and so is the rule.
        """
        hit = Hit(
            self.sequence,
            rule,
            reason,
            position.file,
            position.line,
            details,
            self.owner,
            number=self.number,
        )
        last = self._last.get(rule)
        if last is not None and (hit.sequence, hit.reason, hit.details) == (
            last.sequence,
            last.reason,
            last.details,
        ):
            last.times += 1
            return
        if self.owner < 0 and last is not None and last.owner < 0 and not self._has_room(rule):
            last.more += 1
            return
        self._record(hit)

    def count(self, rule: str, more: int) -> None:
        """Count further hits of the record that was reported last, which are not listed."""
        self._last[rule].more += more

    def report_unknown_fields(
        self, kind: str, names: Iterable[str], position: SourcePosition, count: int = 1
    ) -> None:
        """Count unknown fields of ``count`` records, each name with its first position.

        Raises:
            StrictHitError: the log is strict.
        """
        for name in names:
            known = self._unknown.get((kind, name))
            if known is not None:
                known.more += count
                continue
            details = {"kind": kind, "name": name}
            hit = Hit(self.sequence, UNKNOWN, "", position.file, position.line, details, more=count)
            self._unknown[kind, name] = hit
            self._record(hit)

    def take(self) -> list[Hit]:
        """The hits; the log is empty afterwards."""
        hits, self.hits = self.hits, []
        self._listed, self._last, self._unknown = {}, {}, {}
        return hits

    def _has_room(self, rule: str) -> bool:
        """Whether the import's log may list another hit: it lists all that are rejected, and the first of others."""
        action = RULES[rule].action
        return action == "rejected" or self._listed[rule] < (LISTED if action == "dropped" else SAMPLES)

    def _record(self, hit: Hit) -> None:
        self.hits.append(hit)
        self._last[hit.rule] = hit
        self._listed[hit.rule] = self._listed.get(hit.rule, 0) + 1
        if self.strict and RULES[hit.rule].strict:
            raise StrictHitError(hit.reason)
