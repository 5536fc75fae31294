"""The JSON lines that the authors of Citeomatic published their corpora in, and the Open Research Corpus behind them.

Fields: ``id``, ``title``, ``abstract`` (``paperAbstract``), ``authors`` (names, or objects with ``name``), ``venue``,
``year``, ``out_citations`` (``outCitations``) and ``key_phrases`` (``keyPhrases``, ``entities``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cocite.corpus.importers.source import JSONLines, integer, text, texts
from cocite.corpus.records import PaperRecord, Record


class Citeomatic(JSONLines):
    """Papers with their outgoing citations."""

    format = "citeomatic"

    @staticmethod
    def recognises(value: dict[str, object]) -> bool:
        """Whether a first record looks like one of this format."""
        return any(name in value for name in ("out_citations", "outCitations", "key_phrases", "keyPhrases"))

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The paper of one line."""
        yield PaperRecord(
            id=text(value, "id"),
            title=text(value, "title"),
            abstract=text(value, "abstract", "paperAbstract"),
            year=integer(value, "year"),
            venue=text(value, "venue"),
            authors=texts(value, "authors"),
            keyphrases=_first(value, "key_phrases", "keyPhrases", "entities"),
            doi=text(value, "doi"),
            citations=_first(value, "out_citations", "outCitations"),
        )


def _first(value: dict[str, Any], *names: str) -> tuple[str, ...]:
    for name in names:
        if value.get(name):
            return texts(value, name)
    return ()
