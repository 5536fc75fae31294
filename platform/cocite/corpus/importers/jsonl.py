"""cocite's own JSON lines.

Each line is an object; what it describes is told by its fields:

* a **paper** has ``title``: ``id``, ``title``, and any of ``abstract``, ``year``, ``venue``, ``authors`` (list),
  ``keyphrases`` (list), ``doi``, ``split`` (``train``, ``dev``, ``test``), ``citations`` (list of ids). It may carry
  its own ``contexts`` (list of contexts without ``citing``) and ``sentences`` (list of texts, or of sentences
  without ``paper``).
* a **context** has ``context``: ``citing``, ``cited`` (ids), ``context`` (the gap as ``TARGETCIT`` or
  ``[CIT]``), and any of ``id``, ``sentence`` (its position in the body), ``section``, ``group``, ``unresolved``.
* a **sentence** has ``text``: ``paper``, ``position``, ``text``, ``section``.
* a **citation** has ``citing`` and ``cited`` (an id or a list of ids) alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cocite.corpus.importers.source import FieldError, JSONLines, integer, text, texts
from cocite.corpus.records import (
    SPLITS,
    TARGET_MARK,
    CitationRecord,
    ContextRecord,
    PaperRecord,
    Record,
    SentenceRecord,
)


class NativeJSONL(JSONLines):
    """Papers, contexts, sentences and citations, one a line, in any order."""

    format = "jsonl"

    def __init__(self, path: Path, files: list[Path] | None = None) -> None:
        super().__init__(path, files)
        self._unnamed = 0

    @staticmethod
    def recognises(value: dict[str, object]) -> bool:
        """Whether a first record looks like one of this format."""
        return (
            ("id" in value and "title" in value)
            or ("citing" in value and "cited" in value)
            or "paper" in value
        )

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The records of one line."""
        if "context" in value:
            yield self._context(value, text(value, "citing"))
        elif "text" in value and "paper" in value:
            yield _sentence(value, text(value, "paper"), integer(value, "position"))
        elif "citing" in value and "cited" in value:
            for id_ in _cited(value):
                yield CitationRecord(text(value, "citing"), id_)
        else:
            yield from self._paper(value)

    def _paper(self, value: dict[str, Any]) -> Iterator[Record]:
        split = text(value, "split")
        if split not in SPLITS:
            raise FieldError("split", "train, dev or test", split)
        paper = PaperRecord(
            id=text(value, "id"),
            title=text(value, "title"),
            abstract=text(value, "abstract"),
            year=integer(value, "year"),
            venue=text(value, "venue"),
            authors=texts(value, "authors"),
            keyphrases=texts(value, "keyphrases"),
            doi=text(value, "doi"),
            split=split,
            citations=texts(value, "citations", "id"),
        )
        contexts, sentences = value.get("contexts") or [], value.get("sentences") or []
        for name, items in (("contexts", contexts), ("sentences", sentences)):
            if not isinstance(items, list):
                raise FieldError(name, "a list", items)
        yield paper
        for item in contexts:
            if not isinstance(item, dict):
                raise FieldError("contexts", "a list of objects", item)
            yield self._context(item, paper.id)
        for position, item in enumerate(sentences):
            if isinstance(item, str):
                yield SentenceRecord(paper.id, position, item)
            elif isinstance(item, dict):
                yield _sentence(item, paper.id, integer(item, "position", position))
            else:
                raise FieldError("sentences", "a list of texts or objects", item)

    def _context(self, value: dict[str, Any], citing: str) -> ContextRecord:
        id_ = text(value, "id")
        if not id_:
            id_ = f"{citing}/{self._unnamed}"
            self._unnamed += 1
        return ContextRecord(
            id=id_,
            citing=citing,
            cited=_cited(value),
            text=text(value, "context", "text").replace("[CIT]", TARGET_MARK),
            sentence=integer(value, "sentence", -1),
            section=text(value, "section"),
            group=integer(value, "group", -1),
            unresolved=integer(value, "unresolved"),
        )


def _cited(value: dict[str, Any]) -> tuple[str, ...]:
    """The cited ids: a list, or one alone."""
    return texts(value, "cited") if isinstance(value.get("cited"), list) else (text(value, "cited"),)


def _sentence(value: dict[str, Any], paper: str, position: int) -> SentenceRecord:
    return SentenceRecord(paper, position, text(value, "text"), text(value, "section"))
