"""The JSON lines of the corpora that Citeomatic's authors published, and of the Open Research Corpus behind them.

Fields: ``id``, ``title``, ``abstract`` (``paperAbstract``), ``authors`` (names, or objects with ``name``), ``venue``,
``year``, ``out_citations`` (``outCitations``) and ``key_phrases`` (``keyPhrases``, ``entities``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cocite.corpus.importers.record_reading import paper_of
from cocite.corpus.importers.source import JSONLines
from cocite.corpus.records import Record

NAMES = {
    "abstract": ("abstract", "paperAbstract"),
    "keyphrases": ("key_phrases", "keyPhrases", "entities"),
    "citations": ("out_citations", "outCitations"),
}
"""Field of a paper -> its names in Citeomatic's corpora and in the Open Research Corpus."""


class Citeomatic(JSONLines):
    """Papers with their outgoing citations.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.citeomatic import Citeomatic
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "corpus.json")
        ...     _ = path.write_text('{"id": "a", "title": "A", "paperAbstract": "Text.", "outCitations": ["b"]}')
        ...     paper = next(iter(Citeomatic(path)))
        >>> paper.abstract, paper.citations
        ('Text.', ('b',))
    """

    format = "citeomatic"

    @staticmethod
    def recognises(value: dict[str, object]) -> bool:
        """Whether a first record looks like one of this format."""
        return any(name in value for name in ("out_citations", "outCitations", "key_phrases", "keyPhrases"))

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The paper of one line."""
        yield paper_of(value, NAMES)
