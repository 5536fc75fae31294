"""BM25 on the ACL corpus against the reference figures of its protocol (test split, global queries)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from cocite.retrieval.engines.bm25 import Bm25Index


@pytest.mark.acl
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (["title"], {"P@10": 0.083, "P@20": 0.061, "R@20": 0.140, "MRR": 0.267, "R@1000": 0.533}),
        (["title", "abstract"], {"P@10": 0.119, "P@20": 0.085, "R@20": 0.200, "MRR": 0.368, "R@1000": 0.629}),
    ],
)
def test_global_reference(acl: Path, fields: list[str], expected: dict[str, float]) -> None:
    papers = pq.read_table(acl / "papers.parquet", columns=["id", "title", "abstract", "year"]).to_pydict()
    links = pq.read_table(acl / "citations.parquet").to_pydict()
    row = {id_: i for i, id_ in enumerate(papers["id"])}
    answers: dict[int, list[int]] = {}
    for citing, cited in zip(links["citing"], links["cited"], strict=True):
        if papers["year"][row[citing]] >= 2011:
            answers.setdefault(row[citing], []).append(row[cited])
    assert len(answers) == 2177
    index = Bm25Index.build(
        f"{t} {a or ''}" for t, a in zip(papers["title"], papers["abstract"], strict=True)
    )
    queries = sorted(answers)
    texts = [" ".join(papers[field][query] or "" for field in fields) for query in queries]
    ranking = index.search(texts, 1001)
    values: dict[str, list[float]] = {name: [] for name in expected}
    for query, found in zip(queries, ranking.rows, strict=True):
        relevant = answers[query]
        hits = np.isin(found[found != query][:1000], relevant)
        places = np.flatnonzero(hits)
        values["MRR"].append(1 / (places[0] + 1) if len(places) else 0)
        for k in (10, 20):
            values[f"P@{k}"].append(float(hits[:k].mean()))
        values["R@20"].append(hits[:20].sum() / len(relevant))
        values["R@1000"].append(hits.sum() / len(relevant))
    measured = {name: float(np.mean(of)) for name, of in values.items()}
    assert measured == pytest.approx(expected, abs=0.005)
