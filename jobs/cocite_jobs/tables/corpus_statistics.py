"""What each paper's Table 1 counts, for any corpus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cocite.corpus.characteristics import characteristics
from cocite.corpus.records import SPLITS
from cocite.corpus.splits import Split
from cocite.corpus.store import Corpus
from cocite.evaluation.report import Table


def corpus_table(corpus: Corpus, paper: str) -> Table:
    """Table 1 of a paper.

    Args:
        corpus: whose papers, links and contexts are counted.
        paper: one of :data:`COUNTED`.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus_table(starter_corpus(), "nogueira").rows[:2]
        [['Total # of docs', 423], ['Total # of citations', 3604]]
    """
    facts = COUNTED[paper](corpus)
    return Table("Table 1", ["statistic", "value"], [[name, value] for name, value in facts.items()])


def _citeomatic(corpus: Corpus) -> dict[str, Any]:
    found = characteristics(corpus)
    return {
        "# of documents in corpus": found["papers"],
        "# of unique authors": found["authors"],
        "# of unique keyphrases": found["keyphrases"],
        "# of unique venues": found["venues"],
        "avg. # of incoming citations": found["in_citations"]["mean"],
        "avg. # of outgoing citations": found["out_citations"]["mean"],
        **{f"size of {name} set": found[part]["papers"] for name, part in _parts("training").items()},
    }


def _nogueira(corpus: Corpus) -> dict[str, Any]:
    split, citing = np.asarray(corpus.split), corpus.cites.degrees
    lengths = np.zeros(len(corpus))
    for field in ("title", "abstract"):
        lengths += np.concatenate(
            [np.fromiter(map(len, texts), int, len(texts)) for texts in corpus.papers.batches(field)]
        )
    queries = {name: (split == SPLITS.index(part)) & (citing > 0) for name, part in _parts("Train").items()}
    names = {"Train": "Train", "dev": "Dev", "test": "Test"}
    return {
        "Total # of docs": len(corpus),
        "Total # of citations": len(corpus.cites.indices),
        "Avg. # citations per doc": _mean(citing),
        "Avg. len. per doc (char)": round(_mean(lengths)),
        **{f"Queries - {names[name]}": int(rows.sum()) for name, rows in queries.items()},
        **{f"q/rel. doc pairs - {names[name]}": int(citing[rows].sum()) for name, rows in queries.items()},
    }


def _hatten(corpus: Corpus) -> dict[str, Any]:
    split = np.asarray(corpus.split)[corpus.context_citing]
    names = {"train": "train", "dev": "val", "test": "test"}
    years = np.asarray(corpus.years)
    known = years[years > 0]
    facts: dict[str, Any] = {
        f"local contexts, {name}": int((split == SPLITS.index(part)).sum()) for part, name in names.items()
    }
    facts["papers"] = len(corpus)
    if len(known):  # years as text: they are no counts
        facts |= {"first year": str(known.min()), "last year": str(known.max())}
    return facts


def _mp_bert4cr(corpus: Corpus) -> dict[str, Any]:
    sizes = Split.of(corpus).counts()
    split = np.asarray(corpus.split)[corpus.context_citing]
    cited = corpus.context_cited.degrees
    of_test = cited[split == SPLITS.index("test")]
    return {
        "papers": len(corpus),
        "papers, train": sizes["train"],
        "papers, test": sizes["test"],
        "Train Cit No.": int((split == SPLITS.index("train")).sum()),
        "Test Cit for P >= 1": int((of_test >= 1).sum()),
        "Test Cit for P = 1": int((of_test == 1).sum()),
        "Test Cit for P >= 2": int((of_test >= 2).sum()),
    }


COUNTED: dict[str, Callable[[Corpus], dict[str, Any]]] = {
    "citeomatic": _citeomatic,
    "nogueira": _nogueira,
    "hatten": _hatten,
    "mp-bert4cr": _mp_bert4cr,
}
"""Paper -> what its Table 1 counts, by the paper's names."""


def has_values(corpus: Corpus, field: str) -> bool:
    """Whether any paper has a value in a field, as ``venue`` or ``authors``."""
    return any(any(map(bool, values)) for values in corpus.papers.batches(field))


def _parts(training: str) -> dict[str, str]:
    """A name for each split, of which the papers name the first differently."""
    return {training: "train", "dev": "dev", "test": "test"}


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else 0.0
