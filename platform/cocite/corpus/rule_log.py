"""The log of an import: it counts and samples the hits of the rules, and writes them to a file.

Every hit of a rule is counted in the store's manifest, the first few are kept there as samples, and what was rejected
or dropped is written to the rejects file with the reason and the position in the source.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cocite.atomic_files import replace_file
from cocite.corpus.fields import suggest
from cocite.corpus.rules import RULES
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError

SAMPLES = 5
"""Hits of a rule that the manifest holds."""
UNKNOWN_FIELDS = 200
"""Names of unknown fields that are counted apart; those after them are counted together."""
LISTED = 10_000
"""Hits of a rule about links that the rejects file holds, at most; all of them are counted."""


class RuleLog:
    """Counts the hits of each rule, keeps samples, and writes the rejects file.

    Args:
        strict: raise at the first hit of a strict rule.
        rejects: file to write rejected and dropped things to, one JSON object a line; it replaces an existing one
            when the log is closed, after a refused record as far as it got, and is removed when it is empty. After
            any other failure an existing file stays.

    Example:
        >>> from cocite.corpus.rule_log import RuleLog
        >>> from cocite.corpus.streams import SourcePosition
        >>> log = RuleLog()
        >>> log.report("empty_title", "the paper has no title", SourcePosition("papers.jsonl", 7))
        >>> log.rejected, log.why_empty()
        (1, '1 rejected, 1 by the rule empty_title (the first: papers.jsonl:7: the paper has no title)')
        >>> strict = RuleLog(strict=True)
        >>> strict.report("empty_title", "the paper has no title", SourcePosition("papers.jsonl", 7))
        Traceback (most recent call last):
        cocite.errors.InputError: papers.jsonl:7: the paper has no title (rule empty_title; leave out --strict to go on)
    """

    def __init__(self, *, strict: bool = False, rejects: Path | None = None) -> None:
        self.strict = strict
        self.counts: Counter[str] = Counter()
        self.samples: dict[str, list[dict[str, Any]]] = {}
        self.unknown_fields: dict[tuple[str, str], dict[str, Any]] = {}
        self.path = rejects
        self._open = ExitStack()
        self._file = None
        self._listed: Counter[str] = Counter()
        if rejects is not None:
            self._file = self._open.enter_context(replace_file(rejects))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None or (issubclass(kind, InputError) and self._listed):
            self._open.close()
        else:
            self._open.__exit__(kind, error, trace)
        if kind is None and self.path is not None and not self._listed:
            self.path.unlink(missing_ok=True)

    @property
    def rejected(self) -> int:
        """The number of records that were left out."""
        return sum(count for name, count in self.counts.items() if RULES[name].action == "rejected")

    def report(self, rule: str, reason: str, position: SourcePosition | None = None, **details: Any) -> None:
        """Count one hit of a rule, and keep it as far as there is room.

        Args:
            rule: one of ``RULES``.
            reason: what is wrong, as a clause.
            position: where in the source; None: unknown.
            details: further entries of the sample, such as ``field`` and ``id``; empty ones are left out.

        Raises:
            InputError: the log is strict, and so is the rule.
        """
        self.counts[rule] += 1
        entry: dict[str, Any] = {"rule": rule, "reason": reason}
        if position is not None and position.file:
            entry |= {"file": position.file, "line": position.line}
        entry |= {key: value for key, value in details.items() if value not in ("", None)}
        if self.strict and RULES[rule].strict:
            self._write(rule, entry)
            where = ": ".join(
                part for part in (str(position) if position else "", str(details.get("field", ""))) if part
            )
            raise InputError(reason, where=where or None, hint=f"rule {rule}; leave out --strict to go on")
        self.keep(rule, entry)

    def report_unknown_fields(
        self, kind: str, names: Iterable[str], position: SourcePosition, count: int = 1
    ) -> None:
        """Count unknown fields of a record (or of ``count`` records), each under its name with its first position."""
        for name in names:
            known = self.unknown_fields.get((kind, name))
            if known is not None:
                known["count"] += count
            if known is not None or len(self.unknown_fields) >= UNKNOWN_FIELDS:
                self.add("unknown_field", count)
                continue
            suggestion = suggest(kind, name)
            self.unknown_fields[kind, name] = {
                "field": name[:80],
                "record": kind,
                "count": count,
                "first": str(position),
                "suggestion": suggestion,
            }
            meant = f"; did you mean {suggestion!r}?" if suggestion else ""
            self.report("unknown_field", f"a {kind} has no such field{meant}", position, field=name[:80])
            self.add("unknown_field", count - 1)

    def why_empty(self) -> str:
        """The reason that nothing could be kept: the commonest rule that rejected records, with its first hit."""
        rejects = {name: self.counts[name] for name, rule in RULES.items() if rule.action == "rejected"}
        rule = max(rejects, key=lambda name: rejects[name])
        if not rejects[rule]:
            return "it holds none"
        sample = next(iter(self.samples.get(rule, [])), {})
        where = f"{sample['file']}:{sample['line']}: " if sample.get("line") else ""
        first = f" (the first: {where}{sample['reason']})" if sample else ""
        meant = [
            f"; {entry['field']!r} may mean {entry['suggestion']!r}"
            for entry in self.unknown_fields.values()
            if entry["suggestion"] in ("id", "title")
        ]
        return f"{self.rejected:,} rejected, {rejects[rule]:,} by the rule {rule}{first}{''.join(meant)}"

    def add(self, rule: str, count: int) -> None:
        """Count hits that are kept elsewhere, or not one by one."""
        if count:
            self.counts[rule] += int(count)

    def keep(self, rule: str, entry: dict[str, Any]) -> None:
        """Keep a hit that is counted already as a sample and in the rejects file, as far as there is room."""
        samples = self.samples.setdefault(rule, [])
        if len(samples) < SAMPLES:
            samples.append(entry)
        if RULES[rule].action in ("rejected", "dropped"):
            self._write(rule, entry)

    def room(self, rule: str) -> int:
        """The number of further hits of a rule about links that the rejects file will take."""
        return max(LISTED - self._listed[rule], 0)

    def _write(self, rule: str, entry: dict[str, Any]) -> None:
        if RULES[rule].action != "rejected" and not self.room(rule):
            return
        self._listed[rule] += 1
        if self._file is not None:
            self._file.write((json.dumps(entry) + "\n").encode())

    def summary(self) -> dict[str, int]:
        """The counts by rule, in the order of ``RULES``; rules without a hit have 0."""
        return {name: self.counts[name] for name in RULES}
