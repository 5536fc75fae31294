"""What Citeomatic's Table 1 counts of a corpus, and the numbers that the paper gives for its three corpora.

Bhagavatula et al. (2018), section 4: Table 1 for OpenCorpus, the text for DBLP and PubMed, which gives no more than the
number of papers and their mean number of citations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus.records import SPLITS
from cocite.corpus.store import Corpus

STATISTICS = {
    "papers": "documents in corpus",
    "authors": "unique authors",
    "keyphrases": "unique keyphrases",
    "venues": "unique venues",
    "in_citations": "incoming citations, mean (± deviation)",
    "out_citations": "outgoing citations, mean (± deviation)",
    "train": "training set [years]",
    "dev": "dev set [years]",
    "test": "test set [years]",
}
"""Name of a statistic -> what it is, in the order of Table 1."""
PUBLISHED: dict[str, dict[str, str]] = {
    "OpenCorpus": {
        "papers": "6.9 million",
        "authors": "8.3 million",
        "keyphrases": "823,677",
        "venues": "23,672",
        "in_citations": "7.4 (± 38.1)",
        "out_citations": "8.4 (± 14.4)",
        "train": "5.5 million [1991–2014]",
        "dev": "689,000 [2014–2015]",
        "test": "20,000 [2015–2016]",
    },
    "DBLP": {"papers": "over 50,000", "out_citations": "5"},
    "PubMed": {"papers": "over 45,000", "out_citations": "17"},
}
"""Corpus of the paper -> its statistics as the paper gives them."""


def characteristics(corpus: Corpus) -> dict[str, Any]:
    """The statistics of Table 1 for a corpus, by the names of :data:`STATISTICS`.

    Citations are the links within the corpus, so the means of incoming and outgoing ones are equal. Those of the paper
    are not: it counts citations from or to papers outside OpenCorpus too. Deviations are those of the population, as
    the authors' ``corpus_stats.py`` computes them. Authors, keyphrases and venues are distinct as they are written. As
    in the paper, papers without citations do not belong to the dev and test sets.

    Returns:
        Counts; for citations ``mean`` and ``deviation``; for a split ``papers``, and ``first_year`` and ``last_year``
        of those whose year is known, else None.

    Example:
        >>> from cocite.corpus.characteristics import characteristics
        >>> from cocite.corpus.starter import starter_corpus
        >>> found = characteristics(starter_corpus())
        >>> found["papers"], found["authors"], found["out_citations"]["mean"] == found["in_citations"]["mean"]
        (423, 1218, True)
    """
    cites = np.asarray(corpus.cites.degrees)
    split = np.asarray(corpus.split)
    return {
        "papers": len(corpus),
        "authors": _distinct(corpus, "authors"),
        "keyphrases": _distinct(corpus, "keyphrases"),
        "venues": _distinct(corpus, "venue"),
        "in_citations": _moments(np.asarray(corpus.cited_by.degrees)),
        "out_citations": _moments(cites),
        **{
            name: _members(corpus, (split == SPLITS.index(name)) & ((name == "train") | (cites > 0)))
            for name in SPLITS[1:]
        },
    }


def shown(statistic: str, value: Any) -> str:
    """A statistic of :func:`characteristics` in the form of the paper's table.

    Example:
        >>> from cocite.corpus.characteristics import shown
        >>> shown("papers", 6900000), shown("in_citations", {"mean": 7.42, "deviation": 38.06})
        ('6,900,000', '7.4 (± 38.1)')
        >>> shown("dev", {"papers": 689000, "first_year": 2014, "last_year": 2015})
        '689,000 [2014–2015]'
    """
    if statistic in SPLITS:
        years = f" [{value['first_year']}–{value['last_year']}]" if value["first_year"] is not None else ""
        return f"{value['papers']:,}{years}"
    return f"{value:,}" if isinstance(value, int) else f"{value['mean']:.1f} (± {value['deviation']:.1f})"


def _distinct(corpus: Corpus, name: str) -> int:
    """Distinct texts of a column, the empty one aside."""
    column = corpus.papers.table.column(name)
    texts = pc.list_flatten(column) if pa.types.is_list(column.type) else column
    return int(pc.count_distinct(pc.filter(texts, pc.not_equal(texts, ""))).as_py())


def _moments(degrees: NDArray[np.int32]) -> dict[str, float]:
    if not len(degrees):
        return {"mean": 0.0, "deviation": 0.0}
    return {"mean": float(degrees.mean()), "deviation": float(degrees.std())}


def _members(corpus: Corpus, members: NDArray[np.bool_]) -> dict[str, int | None]:
    years = np.asarray(corpus.years)[members]
    known = years[years > 0]
    first, last = (int(known.min()), int(known.max())) if len(known) else (None, None)
    return {"papers": int(members.sum()), "first_year": first, "last_year": last}
