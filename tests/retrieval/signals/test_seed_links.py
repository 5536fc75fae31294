"""Evidence of the citation graph for papers near seeds, against counts one by one."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.starter import starter_corpus
from cocite.protocols import NO_ROW
from cocite.retrieval.signals import seed_links as module
from cocite.retrieval.signals.seed_links import Evidence, linked_seeds, seed_links

CORPUS = starter_corpus()
HISTORY = History.all(CORPUS)
SEEDS = np.sort(np.argsort(-HISTORY.in_citations)[10:14]).astype(np.int64)
REFERENCES = [set(CORPUS.cites[row].tolist()) for row in range(len(CORPUS))]


def values(evidence: Evidence) -> dict[int, float]:
    return dict(zip(evidence.rows.tolist(), evidence.values.tolist(), strict=True))


@pytest.mark.parametrize("until", [None, 2018])
@pytest.mark.parametrize("without", [NO_ROW, int(HISTORY.cited_by[SEEDS[0]][0])])
def test_evidence_is_that_counted_one_by_one(until: int | None, without: int) -> None:
    counted = [row != without and (until is None or CORPUS.years[row] <= until) for row in range(len(CORPUS))]
    usual = np.sqrt(np.maximum(HISTORY.in_citations, 1))
    cited, citing, cocited, coupled = (np.zeros(len(CORPUS)) for _ in range(4))
    for seed in SEEDS.tolist():
        cited[list(REFERENCES[seed])] += 1
        for row in np.flatnonzero(counted).tolist():
            citing[row] += seed in REFERENCES[row]
            coupled[row] += sum(1 / usual[one] for one in REFERENCES[row] & REFERENCES[seed])
            if seed in REFERENCES[row]:
                cocited[list(REFERENCES[row])] += 1 / usual[seed]
    cocited /= np.maximum(HISTORY.in_citations, 1) ** module.POPULARITY
    found = seed_links(HISTORY, SEEDS, until=until, without=without)
    expected = {"cited": cited, "citing": citing, "cocited": cocited, "coupled": coupled}
    assert found.keys() == expected.keys()
    for name, evidence in found.items():
        of_kind = {row: float(expected[name][row]) for row in np.flatnonzero(expected[name]).tolist()}
        assert values(evidence) == pytest.approx(of_kind), name


def test_of_too_many_links_those_to_the_least_cited_references_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = values(seed_links(HISTORY, SEEDS)["coupled"])
    monkeypatch.setattr(module, "SHARED_LINKS", 100)
    part = values(seed_links(HISTORY, SEEDS)["coupled"])
    assert 0 < len(part) < len(whole)
    assert all(value <= whole[row] + 1e-9 for row, value in part.items())


def test_linked_seeds_are_those_with_most_links_first() -> None:
    row = int(CORPUS.cites[SEEDS[0]][0])
    links = [
        sum(row in cites and seed in cites for cites in REFERENCES)
        + (row in REFERENCES[seed])
        + (seed in REFERENCES[row])
        for seed in SEEDS.tolist()
    ]
    found = linked_seeds(HISTORY, SEEDS, row)
    assert set(found) == {seed for seed, count in zip(SEEDS.tolist(), links, strict=True) if count}
    counts = [links[SEEDS.tolist().index(seed)] for seed in found]
    assert counts == sorted(counts, reverse=True)
