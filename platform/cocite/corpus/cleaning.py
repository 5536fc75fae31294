"""Repairs the text of records: broken characters out, over-long fields cut, years within reason."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from cocite.corpus.hits import ShareLog
from cocite.corpus.records import ContextRecord, PaperRecord, SentenceRecord
from cocite.corpus.rules import Limits
from cocite.corpus.streams import SourcePosition

REPLACEMENT = "\ufffd"
_DROPPED = re.compile("[\ud800-\udfff\ufffd\ufffe\uffff\ufeff]+")
_SPACED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]+")
_WINDOWS = {code: bytes([code]).decode("cp1252", "ignore") or " " for code in range(0x80, 0xA0)}
"""What C1 control characters were before somebody read Windows-1252 as Latin-1."""


def repair(text: str) -> tuple[str, bool]:
    """A text in NFC without broken characters, and whether there were any.

    Lone surrogates and replacement characters are dropped. C1 control characters become what they are in
    Windows-1252, which is how they mostly came about; the other control characters stand where OCR saw nothing or a
    page ended, so each run of them becomes a space. Tabs and line ends stay; so do accents, in composed form.
    """
    if text.isprintable() and (text.isascii() or REPLACEMENT not in text):
        # The common case costs two passes in C and no copy.
        return (text, False) if text.isascii() else (unicodedata.normalize("NFC", text), False)
    # A carriage return is how some systems end a line: it is not counted as broken.
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    fixed = _SPACED.sub(" ", _DROPPED.sub("", lines.translate(_WINDOWS)))
    return unicodedata.normalize("NFC", fixed), fixed != lines


class Cleaner:
    """Applies the rules that need one record alone.

    Each method repairs the record in place and returns whether it can be kept.

    Args:
        limits: what a field may hold.
        log: records what the rules find.

    Example:
        >>> from cocite.corpus.cleaning import Cleaner
        >>> from cocite.corpus.hits import ShareLog
        >>> from cocite.corpus.records import PaperRecord
        >>> from cocite.corpus.rules import Limits
        >>> from cocite.corpus.streams import SourcePosition
        >>> log = ShareLog()
        >>> paper = PaperRecord("a", "Na\\u0308ive\\x00 Bayes", year=20009)
        >>> Cleaner(Limits(), log).paper(paper, SourcePosition("papers.jsonl", 1))
        True
        >>> paper.title, paper.year, [hit.rule for hit in log.hits]
        ('Näive Bayes', 0, ['broken_unicode', 'absurd_year'])
    """

    def __init__(self, limits: Limits, log: ShareLog) -> None:
        self.limits = limits
        self.log = log

    def paper(self, record: PaperRecord, position: SourcePosition) -> bool:
        """Clean a paper."""
        limits = self.limits
        if not self._id_fits(record, position):
            return False
        record.title = self._text(record.title, limits.title, "title", record.id, position).strip()
        if not record.title:
            self.log.report("empty_title", "the paper has no title", position, field="title", id=record.id)
            return False
        record.abstract = self._text(
            record.abstract, limits.abstract, "abstract", record.id, position
        ).strip()
        record.venue = self._text(record.venue, limits.venue, "venue", record.id, position).strip()
        record.doi = self._text(record.doi, limits.name, "doi", record.id, position).strip()
        record.authors = self._texts(record.authors, "authors", record.id, position)
        record.keyphrases = self._texts(record.keyphrases, "keyphrases", record.id, position)
        if record.year and not limits.first_year <= record.year <= limits.last_year:
            reason = f"the year {record.year} is not within {limits.first_year} to {limits.last_year}"
            self.log.report("absurd_year", reason, position, field="year", id=record.id)
            record.year = 0
        if len(record.citations) > limits.citations:
            self._cut(len(record.citations), limits.citations, "citations", record.id, position)
            record.citations = record.citations[: limits.citations]
        return True

    def context(self, record: ContextRecord, position: SourcePosition) -> bool:
        """Clean a context."""
        if not self._id_fits(record, position):
            return False
        record.text = self._text(record.text, self.limits.context, "context", record.id, position).strip()
        if not record.text:
            self.log.report(
                "empty_context", "the context has no text", position, field="context", id=record.id
            )
            return False
        record.section = self._text(
            record.section, self.limits.section, "section", record.id, position
        ).strip()
        if len(record.cited) > self.limits.group:
            self._cut(len(record.cited), self.limits.group, "cited", record.id, position)
            record.cited = record.cited[: self.limits.group]
        return True

    def sentence(self, record: SentenceRecord, position: SourcePosition) -> bool:
        """Clean a body sentence."""
        record.text = self._text(record.text, self.limits.sentence, "text", record.paper, position).strip()
        if not record.text:
            self.log.report(
                "empty_sentence", "the sentence has no text", position, field="text", id=record.paper
            )
            return False
        record.section = self._text(
            record.section, self.limits.section, "section", record.paper, position
        ).strip()
        return True

    def _id_fits(self, record: PaperRecord | ContextRecord, position: SourcePosition) -> bool:
        if record.id.isalnum() and record.id.isascii() and len(record.id) <= self.limits.id:
            return True
        id_, broken = repair(record.id)
        record.id = id_.strip()
        if not record.id:
            self.log.report("missing_id", "the record has no id", position, field="id")
            return False
        if broken or len(record.id) > self.limits.id:
            reason = f"the id is broken or longer than {self.limits.id} characters"
            self.log.report("missing_id", reason, position, field="id", id=record.id[:80])
            return False
        return True

    def _text(self, text: str, limit: int, field: str, id_: str, position: SourcePosition) -> str:
        if text.isascii() and text.isprintable() and len(text) <= limit:
            return text  # the common case, the empty text among them
        text, broken = repair(text)
        if broken:
            self.log.report(
                "broken_unicode", f"broken characters in the {field}", position, field=field, id=id_
            )
        if len(text) > limit:
            self._cut(len(text), limit, field, id_, position)
            return text[:limit]
        return text

    def _texts(self, texts: Iterable[str], field: str, id_: str, position: SourcePosition) -> tuple[str, ...]:
        if not texts:
            return ()
        values = [self._text(text, self.limits.name, field, id_, position).strip() for text in texts]
        kept = tuple(value for value in values if value)
        if len(kept) > self.limits.names:
            self._cut(len(kept), self.limits.names, field, id_, position)
        return kept[: self.limits.names]

    def _cut(self, size: int, limit: int, field: str, id_: str, position: SourcePosition) -> None:
        self.log.report("too_long", f"{size} where {limit} is the limit; cut", position, field=field, id=id_)
