"""AMiner's DBLP citation network, versions 10 to 14: papers of DBLP with their references, as JSON.

=======  ==========================================================================================================
version  what differs
=======  ==========================================================================================================
10       JSON lines; ``authors`` are names, ``venue`` is a text, ``abstract`` too
11       JSON lines; ``authors``, ``venue`` and ``fos`` are objects, the abstract is an inverted index
12       one array of the same, with whole numbers as ids
13, 14   one array; the id may be ``_id``, ``abstract`` is a text again, ``keywords`` and ``fos`` are lists of texts
=======  ==========================================================================================================

Keyphrases are the keywords; where a paper has none, its fields of study. ``n_citation`` counts citations of the whole
literature and is not read: counts are those of the corpus.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cocite.corpus.importers.inverted_abstract import abstract_of
from cocite.corpus.importers.record_reading import paper_of
from cocite.corpus.importers.source import JSONLines
from cocite.corpus.importers.values import FieldError, mapping, text
from cocite.corpus.records import Record

INDEX = "indexed_abstract"
"""Field of the abstract as an inverted index."""
NAMES = {"id": ("id", "_id"), "keyphrases": ("keywords", "fos"), "citations": ("references",)}
"""Field of a paper -> its names in the citation network."""


class AMiner(JSONLines):
    """Papers with their references.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.aminer import AMiner
        >>> line = '{"id": 1091, "title": "A", "year": 2013, "n_citation": 1, "references": [2018037215],'
        >>> line += '"venue": {"raw": "ITS", "type": "C"}, "authors": [{"name": "Makoto Satoh", "id": 2312688602}],'
        >>> line += '"indexed_abstract": {"IndexLength": 2, "InvertedIndex": {"text": [1], "Short": [0]}}}'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "dblp.v12.json")
        ...     _ = path.write_text(f"[\\n{line}\\n]")
        ...     paper = next(iter(AMiner(path)))
        >>> paper.id, paper.abstract, paper.venue, paper.citations
        ('1091', 'Short text', 'ITS', ('2018037215',))
    """

    format = "aminer"

    @staticmethod
    def recognises(value: dict[str, object]) -> bool:
        """Whether a first record looks like one of this format."""
        return any(name in value for name in ("n_citation", INDEX)) or (
            "fos" in value and "references" in value
        )

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The paper of one object."""
        yield paper_of(value, NAMES, abstract=_abstract(value), venue=_venue(value))


def _abstract(value: dict[str, Any]) -> str:
    if value.get("abstract") or not value.get(INDEX):
        return text(value, "abstract")
    return abstract_of(mapping(_parsed(value), "InvertedIndex"), INDEX)


def _parsed(value: dict[str, Any]) -> dict[str, Any]:
    """The index of an abstract, which some versions hold as the text of a JSON object."""
    index = value[INDEX]
    if isinstance(index, str):
        try:
            index = json.loads(index)
        except (ValueError, RecursionError) as error:
            raise FieldError(INDEX, "a JSON object", index) from error
    return mapping({INDEX: index}, INDEX)


def _venue(value: dict[str, Any]) -> str:
    return (
        text(value["venue"], "raw", "name_d")
        if isinstance(value.get("venue"), dict)
        else text(value, "venue")
    )
