"""Full texts of S2ORC: one string, and spans of it that mark titles, paragraphs, citations and other parts."""

from __future__ import annotations

import json
from typing import Any

from cocite.corpus.importers.fulltext import Mention
from cocite.corpus.importers.values import FieldError, integer, mapping, objects, text

_NAMES = {
    # S2ORC's first API release and its second one name the same spans differently.
    "bibref": ("bibref", "bib_ref"),
    "bibentry": ("bibentry", "bib_entry"),
    "header": ("sectionheader", "section_header"),
}
"""Kind of a span -> its names in the releases."""


class Body:
    """A full text and the spans that annotate it.

    Args:
        value: the object of one paper, with ``content`` (first release) or ``body`` and ``bibliography`` (second one).

    Raises:
        FieldError: a field is not of its type.

    Example:
        >>> from cocite.corpus.importers.s2orc_body import Body
        >>> spans = {"paragraph": [{"start": 0, "end": 14}], "bibref": [
        ...     {"start": 10, "end": 13, "attributes": {"ref_id": "b0"}}],
        ...     "bibentry": [{"start": 20, "end": 21, "attributes": {"id": "b0", "matched_paper_id": 42}}]}
        >>> body = Body({"content": {"text": "As shown [1]. References.", "annotations": spans}})
        >>> body.mentions()
        [Mention(start=10, end=13, cited='42')]
    """

    def __init__(self, value: dict[str, Any]) -> None:
        content = mapping(value, "content") or mapping(value, "body")
        self.text = text(content, "text")
        self._spans = mapping(content, "annotations")
        bibliography = mapping(value, "bibliography")
        self._entries = mapping(bibliography, "annotations") if bibliography else self._spans

    def spans(self, name: str, source: dict[str, Any] | None = None) -> list[tuple[int, int, dict[str, Any]]]:
        """(start, end, attributes) of one kind of span that lies within the text."""
        source = self._spans if source is None else source
        raw = next((source[n] for n in _NAMES.get(name, (name,)) if source.get(n)), None)
        if isinstance(raw, str):
            # The spans are JSON within JSON.
            try:
                raw = json.loads(raw)
            except (ValueError, RecursionError) as error:
                raise FieldError(f"annotations.{name}", "valid JSON", raw) from error
        result = []
        for span in objects({name: raw}, name):
            start, end = integer(span, "start", -1), integer(span, "end", -1)
            if 0 <= start < end:
                result.append((start, end, mapping(span, "attributes")))
        return result

    def pieces(self, name: str) -> list[str]:
        """The texts of one kind of span."""
        return [
            " ".join(self.text[start:end].split())
            for start, end, _ in self.spans(name)
            if end <= len(self.text)
        ]

    def first(self, name: str) -> str:
        """The text of the first span of a kind."""
        return next(iter(self.pieces(name)), "")

    @property
    def abstract(self) -> str:
        """The abstract's paragraphs."""
        return "\n".join(self.pieces("abstract"))

    def mentions(self) -> list[Mention]:
        """The citations, with the corpus ids of what they cite."""
        known: dict[str, str] = {}
        for _, _, attributes in self.spans("bibentry", self._entries):
            known[text(attributes, "id")] = text(attributes, "matched_paper_id")
        result = []
        for start, end, attributes in self.spans("bibref"):
            cited = text(attributes, "matched_paper_id") or known.get(text(attributes, "ref_id"), "")
            if end <= len(self.text):
                result.append(Mention(start, end, cited))
        return result

    def paragraphs(self) -> list[tuple[int, int, str]]:
        """(start, end, section) of the body's paragraphs; the whole text when none is marked."""
        spans = sorted((start, min(end, len(self.text))) for start, end, _ in self.spans("paragraph"))
        headers = sorted((start, self.text[start:end].strip()) for start, end, _ in self.spans("header"))
        result, at, section = [], 0, ""
        for start, end in spans:
            while at < len(headers) and headers[at][0] <= start:
                section, at = headers[at][1], at + 1
            result.append((start, end, section))
        return result or [(0, len(self.text), "")]
