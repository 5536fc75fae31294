"""unarXive's full texts of arXiv, as published in 2022: one paper a line, with marked citations and formulas.

The id of a paper is its arXiv number. A reference is a link to the arXiv number that unarXive matched it to, or that
stands in it; without one, to its DOI or OpenAlex id, which a corpus of arXiv's papers alone does not hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cocite.corpus.importers.arxiv_metadata import preprint_paper
from cocite.corpus.importers.fulltext import BodyText
from cocite.corpus.importers.openalex import short_id
from cocite.corpus.importers.source import JSONLines
from cocite.corpus.importers.values import bare_doi, mapping, objects, text
from cocite.corpus.records import ARXIV_DOI, Malformed, Record

MAX_BODY = 8 << 20
"""Characters of a body, its formulas written out: a short marker may stand for a long formula many times."""
_MARKER = re.compile(r"\{\{(\w+):([^{}\s]+)\}\}")
_AROUND_NUMBER = re.compile(r"^arxiv:\s*|v\d+$", re.IGNORECASE)


class UnarXive(JSONLines):
    """Full texts with their references.

    Example:
        >>> import json, tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.unarxive import UnarXive
        >>> value = {"paper_id": "2105.05862", "_source_name": "2105.05862.gz", "metadata": {"title": "Memory"}}
        >>> value["bib_entries"] = {"80db": {"ids": {"arxiv_id": "1706.03762"}}}
        >>> value["body_text"] = [{"section": "Intro", "text": "See {{cite:80db}} for it."}]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "arXiv_src_2105_034.jsonl")
        ...     _ = path.write_text(json.dumps(value))
        ...     paper, sentence, context = UnarXive(path)
        >>> paper.citations, sentence.text, context.text
        (('1706.03762',), 'See [[CIT:0]] for it.', 'See TARGETCIT for it.')
    """

    format = "unarxive"

    @staticmethod
    def recognises(value: dict[str, object]) -> bool:
        """Whether a first record looks like a paper of unarXive."""
        return (
            "paper_id" in value
            and "body_text" in value
            and isinstance(value.get("bib_entries"), dict)
            and ("_source_name" in value or "discipline" in value)
        )

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The paper of one object, its unmatched references, its sentences and its contexts."""
        id_ = text(value, "paper_id").strip()
        entries = mapping(value, "bib_entries")
        cited = {name: _cited(mapping(entries, name)) for name in entries}
        paper = preprint_paper(mapping(value, "metadata"), id_)
        paper.citations = tuple(filter(None, cited.values()))
        body, is_cut = _body(value, cited)
        yield paper
        if unmatched := list(cited.values()).count(""):
            reason = f"{unmatched} of {len(cited)} references of {id_} are matched to no id"
            yield Malformed(reason, "bib_entries", "unmatched_citation", count=unmatched)
        if is_cut:
            reason = f"the body of {id_} has more than {MAX_BODY >> 20} Mi characters; cut"
            yield Malformed(reason, "body_text", "too_long")
        yield from body.records(id_)


def _body(value: dict[str, Any], cited: dict[str, str]) -> tuple[BodyText, bool]:
    """The body with its formulas written out, and whether it was cut.

    Args:
        value: the object of one paper.
        cited: name of a reference -> id of what it cites, empty when unknown.
    """
    body = BodyText()
    others = mapping(value, "ref_entries")
    for paragraph in objects(value, "body_text"):
        raw, at = text(paragraph, "text"), 0
        for marker in _MARKER.finditer(raw):
            body.add(raw[at : marker.start()])
            at = marker.end()
            kind, name = marker.groups()
            if kind == "cite":
                body.cite(marker[0], cited.get(name, ""))
            elif kind == "formula" and (latex := text(mapping(others, name), "latex").strip()):
                body.add(f"${latex}$")
            if body.size > MAX_BODY:
                return body, True
        body.add(raw[at:])
        body.end_paragraph(text(paragraph, "section"))
    return body, False


def _cited(entry: dict[str, Any]) -> str:
    """The id of what a reference cites; empty when it was matched to nothing."""
    ids = mapping(entry, "ids") if entry.get("ids") else {}
    number, doi = text(ids, "arxiv_id").strip(), bare_doi(text(ids, "doi")).lower()
    if not number and doi.startswith(ARXIV_DOI.lower()):
        number = doi[len(ARXIV_DOI) :]
    if not number:
        within = {text(found, "id").strip() for found in objects(entry, "contained_arXiv_ids")}
        number = within.pop() if len(within) == 1 else ""
    return _AROUND_NUMBER.sub("", number) or doi or short_id(text(ids, "open_alex_id"))
