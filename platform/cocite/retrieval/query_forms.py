"""The texts of a query that BM25 matches, in several forms."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from cocite.protocols import Query
from cocite.text.gaps import strip_marks

if TYPE_CHECKING:
    from cocite.retrieval.engines.bm25 import Bm25Index


class QueryForm(StrEnum):
    """Which of a query's texts are matched; a part that the query lacks is left out.

    Example:
        >>> query = Query("q", context="as shown by [CIT]", title="Parsing")
        >>> query_texts([query], QueryForm.CONTEXT_TITLE)
        ['as shown by Parsing']
    """

    TITLE = "title"
    TITLE_ABSTRACT = "title+abstract"
    KEY_TERMS = "key-terms"
    """The words that mark title and abstract off from the corpus, each once (Citeomatic, Appendix D)."""
    FIELD_KEY_TERMS = "key-terms-by-field"
    """Those that mark the title off from all titles, and those that mark the abstract off from all abstracts: as
    Citeomatic's published code forms its BM25 query, and Nogueira et al.'s after it (Section 5.3)."""
    CONTEXT = "context"
    CONTEXT_TITLE = "context+title"
    CONTEXT_TITLE_ABSTRACT = "context+title+abstract"


_FIELDS = {
    QueryForm.TITLE: ("title",),
    QueryForm.TITLE_ABSTRACT: ("title", "abstract"),
    QueryForm.KEY_TERMS: ("title", "abstract"),
    QueryForm.FIELD_KEY_TERMS: ("title", "abstract"),
    QueryForm.CONTEXT: ("context",),
    QueryForm.CONTEXT_TITLE: ("context", "title"),
    QueryForm.CONTEXT_TITLE_ABSTRACT: ("context", "title", "abstract"),
}
FIELD_KEY_TERMS = {"title": 3, "abstract": 5}
"""Key terms of each field; neither paper says how many. Citeomatic's code (``candidate_selectors.py``) asks Whoosh for
three of the title and for its default number of the abstract."""


def query_texts(
    queries: Sequence[Query],
    form: QueryForm,
    *,
    index: Bm25Index | None = None,
    fields: Mapping[str, Bm25Index] | None = None,
    key_terms: int = 20,
) -> list[str]:
    """The text of each query in one form, citation marks taken out.

    Args:
        queries: Q queries.
        form: which of their parts.
        index: its word frequencies choose the key terms; needed for ``KEY_TERMS`` alone.
        fields: indexes of the papers' titles and of their abstracts; needed for ``FIELD_KEY_TERMS`` alone.
        key_terms: how many of them (``KEY_TERMS``).

    Raises:
        ValueError: key terms are asked for without an index.
    """
    if form is QueryForm.FIELD_KEY_TERMS:
        if fields is None:
            raise ValueError("key terms of a field are chosen by its word frequencies: pass fields=")
        by_field = [
            fields[name].key_terms([getattr(query, name) or "" for query in queries], count)
            for name, count in FIELD_KEY_TERMS.items()
        ]
        return [" ".join(itertools.chain(*words)) for words in zip(*by_field, strict=True)]
    parts = _FIELDS[form]
    texts = [" ".join(filter(None, (getattr(query, part) for part in parts))) for query in queries]
    texts = [strip_marks(text) for text in texts] if "context" in parts else texts
    if form is QueryForm.KEY_TERMS:
        if index is None:
            raise ValueError("key terms are chosen by an index' word frequencies: pass index=")
        return [" ".join(words) for words in index.key_terms(texts, key_terms)]
    return texts


def manuscript_texts(queries: Sequence[Query]) -> list[str]:
    """The texts that a query's neighbours are searched with: context, title and abstract.

    Example:
        >>> manuscript_texts([Query("q", title="Parsing", abstract="We parse.")])
        ['Parsing We parse.']
    """
    return query_texts(queries, QueryForm.CONTEXT_TITLE_ABSTRACT)


def sentence_texts(queries: Sequence[Query]) -> list[str]:
    """The texts that similar sentences are searched with: a local query's context, a global one's title and abstract.

    Example:
        >>> sentence_texts([Query("l", context="shown by [CIT]", title="T"), Query("g", title="T", abstract="A")])
        ['shown by', 'T A']
    """
    local = query_texts(queries, QueryForm.CONTEXT)
    global_ = query_texts(queries, QueryForm.TITLE_ABSTRACT)
    return [
        context if query.is_local else text
        for query, context, text in zip(queries, local, global_, strict=True)
    ]
