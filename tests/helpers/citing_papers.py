"""A corpus whose sentences cite where they speak of earlier work, and a classifier trained on it."""

from __future__ import annotations

from pathlib import Path

from cocite.corpus.builder import build
from cocite.corpus.records import PaperRecord, Record, SentenceRecord
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus

TOPICS = ("parsing", "tagging", "translation", "alignment", "summaries", "dialogue")
CITING = "Earlier work on {} was proposed by others and extended later"
PLAIN = "We show our own table of {} in the next section below"


def citing_corpus(folder: Path, *, incomplete: bool = False) -> Corpus:
    """36 papers of three years, a split each: one half of their sentences cites, in other words than the other half.

    With ``incomplete``, one in three of those that cite lacks a word without its citation.
    """
    records: list[Record] = []
    for number in range(36):
        id_, topic = f"p{number}", TOPICS[number % len(TOPICS)]
        records.append(PaperRecord(id_, f"On {topic} {number}", year=2000 + number % 3))
        for at in range(6):
            citation = "[[CIT:0]]" if at else "(Lee and Kim, 1999)"
            by = " by" if incomplete and at == 2 else ""
            text = f"{PLAIN.format(topic)}." if at % 2 else f"{CITING.format(topic)}{by} {citation}."
            records.append(SentenceRecord(id_, at, text, "Related Work" if at < 3 else "Results"))
    build(records, folder, split=by_year_name(2000, 2001))
    return Corpus.open(folder)
