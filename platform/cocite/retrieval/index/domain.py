"""The limits beyond which a text is unlike an index, fitted to its own papers when it is built.

Each paper of a sample is weighed as if the index lacked it: its title and abstract, and one of its contexts with these
behind it, as queries have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import Query
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_files import load_group
from cocite.retrieval.engines.domain_limits import DomainLimits, Kind, Limits
from cocite.retrieval.engines.word_rarity import OwnWords, WordRarity
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.query_forms import manuscript_texts
from cocite.text.gaps import blank_marks

DOMAIN = "domain"
"""Key of a manifest that has the limits; null where there are too few papers to fit them to."""
SAMPLE = 2000
"""Papers that the limits are fitted to."""
SEED = 0
Weighed = dict[Kind, NDArray[np.float64]]
"""By kind of query, the rarity of each word of a paper's text, in order."""


def fit_domain(
    collection: Collection, rarity: WordRarity, rows: NDArray[np.int64] | None = None
) -> DomainLimits | None:
    """The limits of an index' own texts.

    Args:
        collection: the papers, and whose contexts are known.
        rarity: of its words.
        rows: the papers of the sample; by default drawn from all.

    Returns:
        None where the papers are too few, or have no text.
    """
    if rows is None:
        size = min(SAMPLE, len(collection))
        rows = np.sort(np.random.default_rng(SEED).choice(len(collection), size, replace=False))
    weighed = list(_weighed(collection, rarity, rows))
    kinds: dict[Kind, Limits] = {}
    for kind in ("global", "local"):
        limits = Limits.fit([of_paper[kind] for of_paper in weighed if kind in of_paper])
        if limits is not None:
            kinds[kind] = limits
    return DomainLimits(documents=rarity.documents, kinds=kinds) if kinds else None


def _weighed(collection: Collection, rarity: WordRarity, rows: NDArray[np.int64]) -> Iterator[Weighed]:
    """The rarities of the words of each paper's texts in an index that lacks the paper."""
    corpus, draw = collection.corpus, np.random.default_rng(SEED)
    texts = zip(*(corpus.papers.take(name, rows) for name in ("title", "abstract")), strict=True)
    # Contexts stand in the order of their papers.
    bounds = np.searchsorted(corpus.context_citing, np.stack([rows, rows + 1]))
    bounds[1] = np.where(collection.history.citing[rows], bounds[1], bounds[0])
    for (title, abstract), first, last in zip(texts, *bounds.tolist(), strict=True):
        paper = rarity.words(f"{title or ''} {abstract or ''}")
        contexts = [
            rarity.words(blank_marks(text)) for text in corpus.contexts.take("text", range(first, last))
        ]
        own = OwnWords.of(paper, contexts)
        weighed: Weighed = {"global": rarity.of(paper, own)}
        if contexts:
            chosen = contexts[int(draw.integers(len(contexts)))]
            weighed["local"] = rarity.of([*chosen, *paper], own)
        yield weighed


def fit_words(collection: Collection, papers: Bm25Index, contexts: Bm25Index) -> dict[str, Any] | None:
    """The limits of an index, for the manifest of its version.

    Args:
        collection: the papers, and whose contexts are known.
        papers, contexts: their words.
    """
    documents = (len(collection), len(collection.context_papers))
    limits = fit_domain(collection, WordRarity(papers, contexts, documents))
    return None if limits is None else limits.model_dump(mode="json")


def fit_saved(collection: Collection, papers: Path, contexts: Path) -> dict[str, Any] | None:
    """As :func:`fit_words`, of the folders of BM25 indexes that are written."""
    words = {**load_group(papers, ("text",)), **load_group(contexts, ("contexts",))}
    return fit_words(collection, words["text"], words["contexts"])


def are_unlike(
    limits: DomainLimits | None, papers: Bm25Index, contexts: Bm25Index, queries: Sequence[Query]
) -> NDArray[np.bool_]:
    """(Q,) whether the text of each query is unlike an index; of none where no limits are known.

    Args:
        limits: of the index.
        papers, contexts: the words of its papers and of its contexts.
        queries: local and global ones may be mixed.
    """
    if limits is None:
        return np.zeros(len(queries), bool)
    rarity = WordRarity(papers, contexts, limits.documents)
    texts = zip(queries, manuscript_texts(queries), strict=True)
    found = [limits.is_unlike(rarity, text, "local" if query.is_local else "global") for query, text in texts]
    return np.array(found, bool)
