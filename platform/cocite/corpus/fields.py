"""The fields of cocite's own records: one definition for importers, JSON Schema and ``docs/corpus-format.md``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import NamedTuple


class Field(NamedTuple):
    """One field of a record.

    Example:
        >>> from cocite.corpus.fields import PAPER, TYPES
        >>> PAPER["year"]
        Field(type='integer', description='year of publication; 0 or absent: unknown', required=False)
        >>> TYPES[PAPER["year"].type]
        'whole number, or text that holds one'
    """

    type: str
    """One of ``TYPES``."""
    description: str
    """A phrase without a full stop."""
    required: bool = False
    """Whether the record is rejected without it. A required text is not blank."""


TYPES: dict[str, str] = {
    "id": "text or number",
    "text": "text or number",
    "reference": "id of a paper",
    "integer": "whole number, or text that holds one",
    "split": "`train`, `dev` or `test`",
    "names": "list of texts, or of objects with `name`",
    "references": "list of ids, or of objects with `id`",
    "one or more references": "an id, or a list of ids or of objects with `id`",
    "contexts": "list of contexts without `citing`",
    "sentences": "list of texts, or of sentences without `paper`",
}
"""Type of a field -> what it holds, in words."""

PAPER: dict[str, Field] = {
    "id": Field(
        "id", "names the paper, at most 512 characters; of two papers with one id the first is kept", True
    ),
    "title": Field("text", "its title", True),
    "abstract": Field("text", "its abstract"),
    "year": Field("integer", "year of publication; 0 or absent: unknown"),
    "venue": Field("text", "journal or conference"),
    "authors": Field("names", "names of the authors, as `Given Family`"),
    "keyphrases": Field("names", "key phrases"),
    "doi": Field("text", "DOI without `https://doi.org/`"),
    "split": Field(
        "split", "the split that its citations and contexts belong to; `--split-years` goes before it"
    ),
    "citations": Field("references", "ids of the papers that it cites"),
    "contexts": Field("contexts", "its citation contexts"),
    "sentences": Field("sentences", "the sentences of its body, in order"),
}
CONTEXT: dict[str, Field] = {
    "id": Field("id", "names the context, at most 512 characters [default: `citing` and a number]"),
    "citing": Field("reference", "the paper that the text is from", True),
    "cited": Field("one or more references", "the papers that are cited at the gap", True),
    "context": Field(
        "text",
        "about 200 characters each side of the gap, which reads `TARGETCIT` or `[CIT]`; other citations in it may read "
        "`OTHERCIT`",
        True,
    ),
    "sentence": Field("integer", "position of the gap's sentence in the body"),
    "section": Field("text", "heading of the section"),
    "group": Field(
        "integer", "number k of the citation group, as `[[CIT:k]]` in the body's sentences names it"
    ),
    "unresolved": Field("integer", "how many papers of the group have no id here"),
}
SENTENCE: dict[str, Field] = {
    "paper": Field("reference", "the paper whose body it is from", True),
    "text": Field("text", "the sentence; a citation group in it reads `[[CIT:k]]`", True),
    "position": Field("integer", "its place in the body, from 0"),
    "section": Field("text", "heading of the section"),
}
CITATION: dict[str, Field] = {
    "citing": Field("reference", "the citing paper", True),
    "cited": Field("one or more references", "the cited paper, or several", True),
}

RECORDS: dict[str, dict[str, Field]] = {
    "paper": PAPER,
    "context": CONTEXT,
    "sentence": SENTENCE,
    "citation": CITATION,
}
"""Kind of record -> its fields."""
NESTED: dict[str, dict[str, Field]] = {
    "contexts": {name: field for name, field in CONTEXT.items() if name != "citing"},
    "sentences": {name: field for name, field in SENTENCE.items() if name != "paper"},
    "authors": {"name": Field("text", "the name", True)},
    "keyphrases": {"name": Field("text", "the phrase", True)},
    "citations": {"id": Field("reference", "the id", True)},
    "cited": {"id": Field("reference", "the id", True)},
}
"""Field of a record -> the fields of the objects that it may hold."""


def kind_of(value: Mapping[str, object]) -> str:
    """The one of ``RECORDS`` that a record is; a record that is none of the others is taken for a paper."""
    if "context" in value:
        return "context"
    if "text" in value and "paper" in value:
        return "sentence"
    return "citation" if "citing" in value and "cited" in value else "paper"


# -- synonyms and misspellings --------------------------------------------------------------------------------

_SYNONYMS: dict[str, str] = {
    "id": "paperid paperids corpusid docid documentid articleid key identifier uid pid bibcode",
    "title": "name papertitle displayname articletitle",
    "abstract": "summary paperabstract abstracttext description",
    "year": "pubyear publicationyear yearpublished pubdate publicationdate published date",
    "venue": "journal journalname booktitle conference containertitle publication source publisher",
    "authors": "author authornames creators creator writers",
    "keyphrases": "keywords keyword phrases tags topics subjects fieldsofstudy terms",
    "doi": "doiurl",
    "split": "fold partition subset",
    "citations": "references reference refs cites cited citedpapers citedids outcitations referencedworks bibliography",
    "contexts": "citationcontexts citcontexts",
    "sentences": "body fulltext bodytext",
    "citing": "citingid citingpaper citingpaperid source sourceid from",
    "cited": "citedid citedids citedpaper citedpaperid citedpapers target targetid targets to refs references "
    "citations",
    "context": "citationcontext contexttext citcontext passage",
    "sentence": "sentenceid sentenceposition sentindex",
    "section": "sectionname sectiontitle heading header",
    "group": "groupid groupnumber",
    "unresolved": "nunresolved",
    "paper": "paperid docid id",
    "text": "sentence sentencetext content",
    "position": "index number order sentenceid sentenceindex",
}
"""Field -> other names of it, in lower case and without separators."""
_CLOSE = 0.75
"""How similar a misspelt name must be to the field that is suggested (``difflib``'s ratio)."""


def suggest(kind: str, name: str) -> str:
    """The known field that an unknown one may mean, as ``citations`` for ``references``; empty when none is near.

    Args:
        kind: one of ``RECORDS``.
        name: the unknown field; within a nested object with its path, as ``contexts.refs``.

    Example:
        >>> from cocite.corpus.fields import suggest
        >>> suggest("paper", "references"), suggest("paper", "abstrct"), suggest("paper", "colour")
        ('citations', 'abstract', '')
    """
    path, _, last = name.rpartition(".")
    known = NESTED.get(path) or RECORDS[kind]
    plain = "".join(c for c in last.casefold() if c.isalnum())
    near = next((field for field in known if plain == field or plain in _SYNONYMS.get(field, "").split()), "")
    if not near:
        near = next(iter(difflib.get_close_matches(plain, known, n=1, cutoff=_CLOSE)), "")
    return f"{path}.{near}" if near and path in NESTED else near
