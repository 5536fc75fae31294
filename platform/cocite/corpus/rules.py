"""The rules of an import: what may be wrong with a record, what is done about it, and how large a field may be.

Nothing is dropped without a trace: :class:`~cocite.corpus.rule_log.RuleLog` counts every hit of a rule.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rule:
    """One rule: what it finds, and what is done about it.

    Example:
        >>> from cocite.corpus.rules import RULES
        >>> rule = RULES["absurd_year"]
        >>> rule.action, rule.strict
        ('repaired', True)
        >>> rule.finds
        'a year before 1500 or after next year; set to 0, unknown'
    """

    finds: str
    action: str
    """``rejected`` (the record is left out), ``repaired``, ``dropped`` (a part is left out) or ``kept``."""
    strict: bool = False
    """Whether a hit ends a strict import. It does where a record is wrong by itself, whatever else the source holds."""


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
    "context_of_no_split": Rule("a context that none of the source's splits names", "rejected"),
    "context_of_earlier_split": Rule(
        "a context of a split that comes before the latest one of its paper's contexts", "rejected"
    ),
    "query_without_context": Rule("an entry of a split whose context the source does not hold", "dropped"),
    "repeated_query": Rule("an entry of a split whose context an entry read before names", "dropped"),
    "sentence_of_unknown_paper": Rule("a body sentence of a paper that the source does not hold", "rejected"),
    "sentence_of_old_paper": Rule("an appended sentence of a paper that was there before", "rejected"),
    "empty_sentence": Rule("a body sentence without text", "rejected"),
    "abstract_of_unknown_paper": Rule("an abstract whose paper the source does not hold", "dropped"),
}
"""Name -> rule. The order is that of the tables."""


@dataclass(frozen=True)
class Limits:
    """The largest values of the fields. Longer ones are cut, so that one broken record cannot fill a disk.

    Example:
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.records import PaperRecord
        >>> from cocite.corpus.rules import Limits
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build([PaperRecord("a", "A long title")], f"{folder}/store", limits=Limits(title=6))
        ...     corpus.paper(0).title, corpus.counts["rules"]["too_long"]
        ('A long', 1)
    """

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
