"""Counts what a corpus holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.records import SPLITS
from cocite.corpus.splits import Split
from cocite.corpus.store import Corpus


def describe(corpus: Corpus) -> dict[str, Any]:
    """Counts, rules' hits with samples, papers by year, degrees, splits."""
    counts = corpus.counts
    years, papers = np.unique(np.asarray(corpus.years), return_counts=True)
    abstracts = sum(sum(bool(text) for text in batch) for batch in corpus.papers.batches("abstract"))
    members = corpus.context_cited.degrees
    return {
        "version": corpus.version,
        "source": corpus.manifest.meta.get("source", ""),
        "format": corpus.manifest.meta.get("format", ""),
        "counts": {
            "papers": len(corpus),
            "with an abstract": abstracts,
            "citations": len(corpus.cites.indices),
            "contexts": len(corpus.contexts),
            "contexts citing two or more": int((members > 1).sum()),
            "papers with contexts": len(np.unique(corpus.context_citing)),
            **_bodies(corpus),
            "co-cited pairs": len(corpus.cocitations[0].indices) // 2,
        },
        "splits": Split.of(corpus).counts(),
        "by_split": _by_split(corpus),
        "years": {
            ("unknown" if y == 0 else str(y)): n for y, n in zip(years.tolist(), papers.tolist(), strict=True)
        },
        "out_degree": _spread(corpus.cites.degrees),
        "in_degree": _spread(corpus.cited_by.degrees),
        "rules": counts.get("rules", {}),
        "samples": corpus.manifest.meta.get("samples", {}),
        "unknown_fields": corpus.manifest.meta.get("unknown_fields", []),
    }


def _bodies(corpus: Corpus) -> dict[str, int]:
    """Counts of body sentences, where the store has them."""
    if not corpus.has_bodies:
        return {}
    bodies = int((np.diff(corpus.sentence_indptr) > 0).sum())
    return {"sentences": len(corpus.sentences), "papers with a body": bodies}


def _by_split(corpus: Corpus) -> dict[str, dict[str, int]]:
    """Links and contexts by the split of the citing paper."""
    split = np.asarray(corpus.split)
    citing = {
        "links": np.repeat(split, corpus.cites.degrees),
        "contexts": split[corpus.context_citing],
    }
    return {
        what: {name or "none": int((codes == code).sum()) for code, name in enumerate(SPLITS)}
        for what, codes in citing.items()
    }


def paper_facts(corpus: Corpus, id_: str, limit: int = 10) -> dict[str, Any]:
    """One paper, and the first ``limit`` of what it cites, what cites it, what it is cited with, and its contexts."""
    row = corpus.row(id_)
    paper = corpus.paper(row)
    together, times = corpus.cocitations
    order = np.argsort(-times[together.indptr[row] : together.indptr[row + 1]], kind="stable")
    about = {
        name: getattr(paper, name)
        for name in ("id", "title", "year", "venue", "authors", "keyphrases", "doi")
    }
    groups = corpus.context_cited.transpose(len(corpus))[row][:limit]
    citing = corpus.ids(np.asarray(corpus.context_citing)[groups])
    texts = corpus.contexts.take("text", groups)
    return {
        "paper": {
            **about,
            "year": str(paper.year or "unknown"),
            "abstract": paper.abstract,
            "split": paper.split,
        },
        "row": row,
        "cites": _listed(corpus, corpus.cites[row], limit),
        "cited_by": _listed(corpus, corpus.cited_by[row], limit),
        "cocited_with": _listed(corpus, together[row][order], limit),
        "contexts": [{"citing": a, "text": b} for a, b in zip(citing, texts, strict=True)],
    }


def _listed(corpus: Corpus, rows: NDArray[np.int32], limit: int) -> dict[str, Any]:
    first = rows[:limit]
    pairs = zip(corpus.ids(first), corpus.papers.take("title", first), strict=True)
    return {"total": len(rows), "papers": [list(pair) for pair in pairs]}


def _spread(degrees: NDArray[np.int32]) -> dict[str, float]:
    if not len(degrees):
        return {}
    values = np.percentile(degrees, [50, 90, 99]).tolist()
    return {
        "none": int((degrees == 0).sum()),
        "mean": round(float(degrees.mean()), 2),
        "median": values[0],
        "90 %": values[1],
        "99 %": values[2],
        "most": int(degrees.max()),
    }
