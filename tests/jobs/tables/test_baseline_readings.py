"""What baselines read is chosen on dev, and on nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.corpus.builder import build
from cocite.corpus.records import ContextRecord, PaperRecord, Record, SentenceRecord
from cocite.corpus.store import Corpus
from cocite.evaluation import tasks
from cocite.systems.baselines.train import BaselineSettings
from cocite.systems.baselines.word2vec import Word2VecSettings
from cocite_jobs.tables.baseline_readings import choose_readings, manuscript_settings
from cocite_jobs.tables.cocitation import cocitation_tables
from cocite_jobs.tables.cocitation_systems import CocitationSystems

BM25 = "BM25 (context+title)"
SETTINGS = BaselineSettings(manuscript=manuscript_settings([]), w2v=Word2VecSettings(dimension=8, epochs=2))


def a_corpus(folder: Path, **helps: str) -> Corpus:
    """Papers of each split, whose citations are told by their contexts, or by the sentence before.

    Where it is the context, the sentence before tells of twenty other papers, so that reading it harms.
    """
    records: list[Record] = [
        PaperRecord(f"t{i}", f"alpha{i} beta{i}", "", 2000, split="train") for i in range(30)
    ]
    others = " ".join(f"alpha{i} beta{i}" for i in range(10, 30))
    for split, what in helps.items():
        for i in range(5):
            paper, target = f"{split}{i}", f"alpha{i} beta{i}"
            local, before = (target, f"{others} " * 4) if what == "context" else ("something", target)
            records += [
                PaperRecord(paper, "A study", "", 2010, split=split, citations=(f"t{i}",)),
                ContextRecord(f"{paper}/0", paper, (f"t{i}",), f"We take {local} TARGETCIT here.", 1),
                SentenceRecord(paper, 0, f"Before that {before}."),
                SentenceRecord(paper, 1, f"We take {local} [[CIT:0]] here."),
            ]
    return build(records, folder)


@pytest.mark.parametrize(("dev", "test"), [("context", "manuscript"), ("manuscript", "context")])
def test_dev_chooses_where_test_would_choose_otherwise(tmp_path: Path, dev: str, test: str) -> None:
    corpus = a_corpus(tmp_path / "corpus", train="context", dev=dev, test=test)
    report = cocitation_tables(
        corpus, [], baselines=["bm25"], cache=tmp_path / "cache", settings=SETTINGS, k=10
    )
    readings, third = report.tables[:2]
    [row] = readings.records()
    assert (row["system"], row["reads"]) == (BM25, dev)
    assert row[f"R@10 {dev}"] == 1.0
    assert row[f"R@10 {test}"] < 1.0
    assert report.facts["baselines_read"] == "the better of two on 5 dev contexts"
    [measured] = third.records()
    assert measured["system"] == (BM25 if dev == "context" else f"{BM25} + manuscript")
    # On test the other reading is the better: whoever looked there would have taken it.
    values = {
        reads: cocitation_tables(
            corpus, [], baselines=["bm25"], cache=tmp_path / "cache", settings=SETTINGS, reads=reads, k=10
        )
        .tables[0]
        .records()[0]["R@10 >= 1"]
        for reads in ("context", "manuscript")
    }
    assert values[test] == 1.0 > values[dev] == measured["R@10 >= 1"]


def test_the_context_is_read_where_dev_cannot_tell(tmp_path: Path) -> None:
    none = a_corpus(tmp_path / "none", train="context", test="manuscript")
    made = CocitationSystems(none, tasks.history_before(none, "test"), None, tmp_path / "cache", SETTINGS)
    rows = made.baselines(["bm25"])
    readings = choose_readings(made, rows, "better")
    assert readings.reads(BM25) == "context"
    assert readings.why == "context, as there are no dev contexts to choose by"
    assert not readings.tables
    assert choose_readings(made, rows, "manuscript").reads(BM25) == "manuscript"
    assert choose_readings(made, [], "better").chosen == {}


def test_those_that_choose_do_not_know_the_dev_papers(cited_together: Corpus, tmp_path: Path) -> None:
    tables = []
    for before in ("dev", "test"):
        known = tasks.history_before(cited_together, before)
        made = CocitationSystems(cited_together, known, None, tmp_path / "cache", SETTINGS)
        tables.append(choose_readings(made, made.baselines(["w2v"]), "better", sample=30).tables[0])
    assert tables[0].rows == tables[1].rows
    assert len([path for path in (tmp_path / "cache").iterdir() if path.name.startswith("w2v-")]) == 1
