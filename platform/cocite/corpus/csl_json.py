"""Papers as CSL-JSON, which citation processors, Pandoc and Zotero read.

Source: https://docs.citationstyles.org/en/stable/specification.html and the schema ``csl-data.json`` of CSL 1.0.2.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from cocite.corpus.arxiv import preprint_of
from cocite.corpus.bibtex import citation_keys, is_proceedings
from cocite.corpus.names import split_name
from cocite.corpus.records import PaperRecord


def entries(papers: Sequence[PaperRecord], keys: Sequence[str] | None = None) -> str:
    """A JSON array of items, with their keys as their ``id``, or else with those of BibTeX.

    A conference's paper is ``paper-conference``, one with another venue ``article-journal``, any other ``article``.

    Example:
        >>> print(entries([PaperRecord("P03-1021", "Minimum Error Rate Training", year=2003)]))
        [
         {
          "id": "anon2003minimum",
          "type": "article",
          "title": "Minimum Error Rate Training",
          "issued": {
           "date-parts": [
            [
             2003
            ]
           ]
          }
         }
        ]
    """
    keys = citation_keys(papers) if keys is None else keys
    items = [_item(paper, key) for paper, key in zip(papers, keys, strict=True)]
    return json.dumps(items, ensure_ascii=False, indent=1) + "\n"


def _item(paper: PaperRecord, key: str) -> dict[str, Any]:
    """An item; what is empty is left out."""
    kind = "article"
    if paper.venue:
        kind = "paper-conference" if is_proceedings(paper.venue) else "article-journal"
    preprint = preprint_of(paper)
    phrases = [_spaced(phrase) for phrase in paper.keyphrases if phrase.strip()]
    item = {
        "id": key,
        "type": kind,
        "title": _spaced(paper.title),
        "author": [_name(_spaced(author)) for author in paper.authors if author.strip()],
        "issued": {"date-parts": [[paper.year]]} if paper.year else None,
        "container-title": _spaced(paper.venue),
        "DOI": _spaced(paper.doi),
        "URL": preprint.url if preprint else "",
        "keyword": ("; " if any("," in phrase for phrase in phrases) else ", ").join(phrases),
    }
    return {name: value for name, value in item.items() if value}


def _name(author: str) -> dict[str, str]:
    name = split_name(author)
    if name is None:
        return {"literal": author}
    parts = {
        "family": name.family,
        "given": name.given,
        "non-dropping-particle": name.particle,
        "suffix": name.suffix,
    }
    return {part: text for part, text in parts.items() if text}


def _spaced(text: str) -> str:
    return " ".join(text.split())
