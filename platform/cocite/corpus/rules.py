"""What happens to a record that is not as it should be: one rule each, counted, sampled, told.

Nothing is lost silently: every hit of a rule is counted in the store's manifest, the first few are kept there as
samples, and what was rejected is written to a file with its reason and its place in the source.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cocite.atomic_files import replace_file
from cocite.corpus.fields import suggest
from cocite.errors import InputError


@dataclass(frozen=True)
class Rule:
    """One rule: what it finds, and what is done about it."""

    finds: str
    action: str
    """``rejected`` (the record is left out), ``repaired``, ``dropped`` (a part is left out) or ``kept``."""
    strict: bool = False
    """Whether a hit ends a strict import: true of what is wrong with a record by itself."""


RULES: dict[str, Rule] = {
    "malformed": Rule("not a record of the source's format", "rejected", True),
    "unknown_field": Rule("a field that the format does not have", "dropped", True),
    "unread_file": Rule("a file of the folder that is not read", "dropped"),
    "unmatched_citation": Rule("a reference that its source could not match to a paper", "dropped"),
    "not_utf8": Rule("an entry with bytes that are not UTF-8; they are read as Windows-1252", "repaired"),
    "repeated_field": Rule("a field that an entry gives twice; the first is kept", "dropped"),
    "undefined_string": Rule("a BibTeX abbreviation that is not defined; its name is kept", "kept"),
    "unknown_crossref": Rule("a crossref to an entry that the file does not hold", "dropped"),
    "missing_id": Rule("no id", "rejected", True),
    "duplicate_id": Rule("an id that an earlier paper has", "rejected", True),
    "empty_title": Rule("no title", "rejected", True),
    "absurd_year": Rule("a year before 1500 or after next year; set to 0, unknown", "repaired", True),
    "broken_unicode": Rule("lone surrogates, control or replacement characters", "repaired", True),
    "too_long": Rule("a field over its limit; cut", "repaired", True),
    "self_citation": Rule("a paper that cites itself", "dropped"),
    "duplicate_citation": Rule("a link given more than once", "dropped"),
    "unknown_citation": Rule("a link to a paper that the source does not hold", "dropped"),
    "unknown_citing": Rule("a link from a paper that the source does not hold", "dropped"),
    "later_citation": Rule("a link to a paper more than a year later than the citing one", "dropped"),
    "next_year_citation": Rule(
        "a link to a paper of the next year, as to a preprint's final version", "kept"
    ),
    "duplicate_context": Rule("a context id that an earlier context has", "rejected", True),
    "empty_context": Rule("a context without text", "rejected", True),
    "context_of_unknown_paper": Rule("a context whose citing paper the source does not hold", "rejected"),
    "context_without_cited": Rule("a context none of whose cited papers can be kept", "rejected"),
    "context_unknown_cited": Rule("a member of a citation group that the source does not hold", "dropped"),
    "context_of_old_paper": Rule("an appended context whose citing paper was there before", "rejected"),
    "sentence_of_unknown_paper": Rule("a body sentence of a paper that the source does not hold", "rejected"),
    "sentence_of_old_paper": Rule("an appended sentence of a paper that was there before", "rejected"),
    "empty_sentence": Rule("a body sentence without text", "rejected"),
    "abstract_of_unknown_paper": Rule("an abstract whose paper the source does not hold", "dropped"),
}
"""Name -> rule. The order is that of the tables."""

SAMPLES = 5
"""Hits of a rule kept in the manifest."""
FIELDS = 200
"""Names of unknown fields that are counted apart; those after them are counted together."""
LISTED = 10_000
"""Hits of a rule about links that are written to the rejects file; all of them are counted."""


@dataclass(frozen=True)
class Limits:
    """What a field may hold. Longer values are cut, so that one broken record cannot fill a disk."""

    id: int = 512
    """Characters. A longer id is refused: cut, it could name another paper."""
    title: int = 2_000
    abstract: int = 20_000
    venue: int = 1_000
    name: int = 300
    """Characters of an author's name or a keyphrase."""
    names: int = 1_000
    """Authors or keyphrases of one paper."""
    citations: int = 20_000
    """Links of one paper."""
    context: int = 5_000
    sentence: int = 5_000
    section: int = 500
    group: int = 200
    """Papers cited in one context."""
    first_year: int = 1500
    last_year: int = field(default_factory=lambda: datetime.date.today().year + 1)
    later_years: int | None = 1
    """A link to a paper more than this many years later is dropped; ``None`` keeps all."""


@dataclass(slots=True)
class Place:
    """Where in a source a record stands."""

    file: str = ""
    line: int = 0
    """1 for the first; a row in a Parquet file; 0 when unknown."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class Tally:
    """Counts the hits of each rule, keeps samples, and writes the rejects file.

    Args:
        strict: raise at the first hit of a strict rule.
        rejects: file to write rejected and dropped things to, one JSON object a line; it replaces an existing one
            when the tally is closed, after a refused record as far as it got, and is removed when it is empty. After
            any other failure what was there stays.
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
        """How many records were left out."""
        return sum(count for name, count in self.counts.items() if RULES[name].action == "rejected")

    def hit(self, rule: str, reason: str, place: Place | None = None, **details: Any) -> None:
        """Count one hit and tell of it; raises in a strict import when the rule says so."""
        self.counts[rule] += 1
        entry: dict[str, Any] = {"rule": rule, "reason": reason}
        if place is not None and place.file:
            entry |= {"file": place.file, "line": place.line}
        entry |= {key: value for key, value in details.items() if value not in ("", None)}
        if self.strict and RULES[rule].strict:
            self._write(rule, entry)
            where = ": ".join(
                part for part in (str(place) if place else "", str(details.get("field", ""))) if part
            )
            raise InputError(reason, where=where or None, hint=f"rule {rule}; leave out --strict to go on")
        self.show(rule, entry)

    def unknown(self, kind: str, names: Iterable[str], place: Place, count: int = 1) -> None:
        """Count unknown fields of a record (or of ``count`` records), each under its name with its first place."""
        for name in names:
            known = self.unknown_fields.get((kind, name))
            if known is not None:
                known["count"] += count
            if known is not None or len(self.unknown_fields) >= FIELDS:
                self.add("unknown_field", count)
                continue
            suggestion = suggest(kind, name)
            self.unknown_fields[kind, name] = {
                "field": name[:80],
                "record": kind,
                "count": count,
                "first": str(place),
                "suggestion": suggestion,
            }
            meant = f"; did you mean {suggestion!r}?" if suggestion else ""
            self.hit("unknown_field", f"a {kind} has no such field{meant}", place, field=name[:80])
            self.add("unknown_field", count - 1)

    def why_empty(self) -> str:
        """Why nothing could be kept: the commonest rule that records were rejected by, with its first hit."""
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
        """Count hits that are told elsewhere, or not one by one."""
        if count:
            self.counts[rule] += int(count)

    def show(self, rule: str, entry: dict[str, Any]) -> None:
        """Keep a counted hit as a sample and in the rejects file, as far as there is room."""
        samples = self.samples.setdefault(rule, [])
        if len(samples) < SAMPLES:
            samples.append(entry)
        if RULES[rule].action in ("rejected", "dropped"):
            self._write(rule, entry)

    def room(self, rule: str) -> int:
        """How many more hits of a rule about links will be written."""
        return max(LISTED - self._listed[rule], 0)

    def _write(self, rule: str, entry: dict[str, Any]) -> None:
        if RULES[rule].action != "rejected" and not self.room(rule):
            return
        self._listed[rule] += 1
        if self._file is not None:
            self._file.write((json.dumps(entry) + "\n").encode())

    def summary(self) -> dict[str, int]:
        """Counts by rule, in the order of the table, rules without a hit included."""
        return {name: self.counts[name] for name in RULES}
