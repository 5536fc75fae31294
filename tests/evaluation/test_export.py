"""Exports: another library's BM25 and another library's evaluator find in them what ``cocite evaluate`` finds."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import bm25s
import ir_datasets
import numpy as np
import pyterrier as pt
import pytest
import pytrec_eval
from beir.datasets.data_loader import GenericDataLoader
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.builder import build
from cocite.corpus.records import PaperRecord
from cocite.corpus.splits import by_year_name
from cocite.corpus.starter import starter_corpus
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.evaluation.baselines import Bm25Baseline, lexical_index
from cocite.evaluation.experiment import run, write_task_qrels
from cocite.evaluation.export import ExportOptions, export
from cocite.evaluation.metrics import means
from cocite.evaluation.trec import read_qrels
from cocite.text.queries import BLOCK

DEPTH = 100
Texts = dict[str, str]
Qrels = dict[str, dict[str, int]]


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(400, seed=5, split=(2, 1))


def lines(path: Path) -> list[str]:
    if path.with_name(f"{path.name}.gz").exists():
        text = gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes()).decode()
    else:
        text = path.read_text()
    return text.splitlines()


def read_beir(folder: Path, split: str) -> tuple[Texts, Texts, Texts, Qrels]:
    """Documents, queries, own papers and judgements, as a reader who knows the layout alone has them."""
    documents = {
        one["_id"]: f"{one['title']} {one['text']}" for one in map(json.loads, lines(folder / "corpus.jsonl"))
    }
    queries = [json.loads(line) for line in lines(folder / "queries.jsonl")]
    head, *judgements = (folder / "qrels" / f"{split}.tsv").read_text().splitlines()
    assert head == "query-id\tcorpus-id\tscore"
    qrels: Qrels = {}
    for query, paper, grade in (line.split("\t") for line in judgements):
        qrels.setdefault(query, {})[paper] = int(grade)
    texts = {one["_id"]: one["text"] for one in queries}
    return documents, texts, {one["_id"]: one["metadata"]["paper"] for one in queries}, qrels


def read_tsv(folder: Path, split: str) -> tuple[Texts, Texts, Texts, Qrels]:
    tables = [
        dict(line.split("\t") for line in lines(folder / name))
        for name in ("documents.tsv", "queries.tsv", "own-papers.tsv")
    ]
    with (folder / "qrels" / f"{split}.qrels").open() as file:
        return (*tables, pytrec_eval.parse_qrel(file))


READERS = {"beir": read_beir, "tsv": read_tsv}


def searched(documents: Texts, queries: Texts, own: Texts) -> dict[str, dict[str, float]]:
    """The run of the bm25s library."""
    ids = list(documents)
    engine = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    engine.index(
        bm25s.tokenize(list(documents.values()), stopwords="en", show_progress=False), show_progress=False
    )
    asked = bm25s.tokenize(list(queries.values()), stopwords="en", show_progress=False, return_ids=False)
    found = {}
    for query, words in zip(queries, asked, strict=True):
        scores = np.round(engine.get_scores(words).astype(np.float64), 4)
        best = [i for i in np.argsort(-scores, kind="stable")[: DEPTH + 1] if ids[i] != own.get(query)]
        # Falling by rank, so that the evaluator leaves the order of equal scores as it is.
        found[query] = {ids[i]: float(-rank) for rank, i in enumerate(best[:DEPTH]) if scores[i] > 0}
    return found


def judged(found: dict[str, dict[str, float]], qrels: Qrels) -> dict[str, float]:
    """The means of pytrec_eval."""
    names = {"recip_rank": "MRR", "recall_10": "R@10", "P_10": "P@10"}
    values = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank", "recall.10", "P.10"}).evaluate(found)
    return {
        names[name]: sum(values.get(query, {}).get(name, 0.0) for query in qrels) / len(qrels)
        for name in names
    }


@pytest.mark.parametrize("task", ["local", "global"])
@pytest.mark.parametrize("layout", ["beir", "tsv"])
def test_other_libraries_measure_what_cocite_measures(
    corpus: Corpus, task: str, layout: str, tmp_path: Path
) -> None:
    export(corpus, tmp_path / "out", ExportOptions(task=task, layout=layout))
    documents, queries, own, qrels = READERS[layout](tmp_path / "out", "test")
    wanted = tasks.build(corpus, task, "test")
    result = run(wanted, Bm25Baseline(lexical_index(corpus)).search, k=DEPTH, to=tmp_path / "bm25.trec")
    metrics = means(result.hits, ["MRR", "R@10", "P@10"])
    # The run of ``cocite evaluate`` by the judgements of the export: the same but for the last bits.
    with (tmp_path / "bm25.trec").open() as file:
        assert judged(pytrec_eval.parse_run(file), qrels) == pytest.approx(metrics, abs=1e-6)
    # Another library's ranking of the export; nearly equal scores may stand in another order there.
    ours = judged(searched(documents, queries, own), qrels)
    assert ours == pytest.approx(metrics, abs=0.01)
    # With the queries' own papers among the candidates the numbers would be others.
    assert judged(searched(documents, queries, {}), qrels)["MRR"] < metrics["MRR"] - 0.05


@pytest.mark.parametrize("task", ["local", "global"])
def test_beir_reads_the_export(corpus: Corpus, task: str, tmp_path: Path) -> None:
    export(corpus, tmp_path / "out", ExportOptions(task, ("dev", "test")))
    for split in ("dev", "test"):
        wanted = tasks.build(corpus, task, split)
        documents, queries, qrels = GenericDataLoader(str(tmp_path / "out")).load(split)
        assert list(documents) == corpus.ids(range(len(corpus)))
        papers = corpus.papers_at(range(len(corpus)))
        assert list(documents.values()) == [{"title": one.title, "text": one.abstract} for one in papers]
        assert sorted(queries) == sorted(wanted.ids)
        assert all(text.strip() for text in queries.values())
        assert qrels == {
            id_: dict.fromkeys(corpus.ids(wanted.relevant[i]), 1) for i, id_ in enumerate(wanted.ids)
        }


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("task", ["local", "global"])
def test_ir_datasets_reads_the_export(corpus: Corpus, task: str, packed: bool, tmp_path: Path) -> None:
    export(corpus, tmp_path / "out", ExportOptions(task, layout="tsv", packed=packed))
    wanted = tasks.build(corpus, task, "test")
    paths = [tmp_path / "out" / name for name in ("documents.tsv", "queries.tsv")]
    files = [ir_datasets.util.LocalDownload(path) for path in paths]
    if packed:
        packed_files = [ir_datasets.util.LocalDownload(path.with_name(f"{path.name}.gz")) for path in paths]
        files = [ir_datasets.util.GzipExtract(file) for file in packed_files]
    qrels = ir_datasets.util.LocalDownload(tmp_path / "out" / "qrels" / "test.qrels")
    found = ir_datasets.Dataset(
        ir_datasets.formats.TsvDocs(files[0]),
        ir_datasets.formats.TsvQueries(files[1]),
        ir_datasets.formats.TrecQrels(qrels, {}),
    )
    assert [one.doc_id for one in found.docs_iter()] == corpus.ids(range(len(corpus)))
    assert [one.query_id for one in found.queries_iter()] == wanted.ids
    assert {one.doc_id: one.text for one in found.docs_iter()} == READERS["tsv"](tmp_path / "out", "test")[0]
    judged_pairs = {(one.query_id, one.doc_id): one.relevance for one in found.qrels_iter()}
    assert judged_pairs == {
        (id_, paper): 1 for i, id_ in enumerate(wanted.ids) for paper in corpus.ids(wanted.relevant[i])
    }
    # PyTerrier reads the same file.
    frame = pt.io.read_qrels(str(tmp_path / "out" / "qrels" / "test.qrels"))
    assert set(zip(frame["qid"], frame["docno"], strict=True)) == set(judged_pairs)


def test_ids_with_quotes(tmp_path: Path) -> None:
    ids = ['"quoted"', 'in"side', "apostrophe's", "a,b", "Müller#1"]
    papers = [PaperRecord(id_, f"Paper {i}", "Text.", year=2000) for i, id_ in enumerate(ids)]
    papers.append(PaperRecord('"citing', "Citing", year=2010, citations=tuple(ids)))
    corpus = build(papers, tmp_path / "corpus", split=by_year_name(2001, 2005))
    export(corpus, tmp_path / "beir", ExportOptions("global"))
    documents, queries, qrels = GenericDataLoader(str(tmp_path / "beir")).load("test")
    assert set(documents) == {*ids, '"citing'}
    assert (list(queries), qrels) == (['"citing'], {'"citing': dict.fromkeys(ids, 1)})
    export(corpus, tmp_path / "tsv", ExportOptions("global", layout="tsv"))
    files = [str(tmp_path / "tsv" / name) for name in ("documents.tsv", "queries.tsv", "qrels/test.qrels")]
    found = ir_datasets.create_dataset(*files)
    assert {one.doc_id for one in found.docs_iter()} == {*ids, '"citing'}
    assert {(one.query_id, one.doc_id) for one in found.qrels_iter()} == {('"citing', id_) for id_ in ids}


@pytest.mark.parametrize("task", ["local", "global"])
def test_judgements_are_those_of_the_evaluation(corpus: Corpus, task: str, tmp_path: Path) -> None:
    counts = export(
        corpus, tmp_path / "out", ExportOptions(task, ("dev", "test"), "tsv", sample=9, seed=3, packed=True)
    )
    for split in ("dev", "test"):
        wanted = tasks.build(corpus, task, split, sample=9, seed=3)
        write_task_qrels(wanted, tmp_path / "qrels")
        assert (tmp_path / "out" / "qrels" / f"{split}.qrels").read_bytes() == (
            tmp_path / "qrels"
        ).read_bytes()
        assert counts["judgements"][split] == len(wanted.relevant.indices)
        assert set(read_qrels(tmp_path / "qrels").relevant) == set(wanted.ids)
    assert (
        len(lines(tmp_path / "out" / "queries.tsv")) == counts["queries"]["dev"] + counts["queries"]["test"]
    )
    assert len(lines(tmp_path / "out" / "documents.tsv")) == counts["documents"] == len(corpus)


def test_more_queries_than_one_block(synthetic: SyntheticCorpora, tmp_path: Path) -> None:
    corpus = synthetic(1500, seed=1, split=(8, 7))
    wanted = tasks.build(corpus, "local", "test")
    assert len(wanted) > BLOCK
    export(corpus, tmp_path / "out")
    _, queries, own, qrels = read_beir(tmp_path / "out", "test")
    assert list(queries) == list(qrels) == wanted.ids
    assert list(own.values()) == corpus.ids([query.paper for query in wanted.queries])
    for query, rows in zip(wanted.ids, (wanted.relevant[i] for i in range(len(wanted))), strict=True):
        assert list(qrels[query]) == corpus.ids(rows)


def test_no_query_holds_the_mark_of_its_gap(corpus: Corpus, tmp_path: Path) -> None:
    export(corpus, tmp_path / "out", ExportOptions(form="context"))
    _, queries, _, _ = read_beir(tmp_path / "out", "test")
    assert not any("TARGETCIT" in text or "OTHERCIT" in text for text in queries.values())
    titles = {corpus.paper(query.paper).title for query in tasks.build(corpus, "local").queries}
    assert not any(title in text for title in titles for text in queries.values())


def test_the_same_export_is_the_same_bytes(corpus: Corpus, tmp_path: Path) -> None:
    options = ExportOptions("global", packed=True)
    export(corpus, tmp_path / "one", options)
    export(corpus, tmp_path / "two", options)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*"))
    assert len(files) == 4
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_texts_that_are_no_single_line_of_unicode(tmp_path: Path) -> None:
    papers = [
        PaperRecord("a", "Tabs\tand\nlines", "Half a pair: \ud800.", year=2000),
        PaperRecord("b", "Citing", year=2010, citations=("a",)),
    ]
    corpus = build(papers, tmp_path / "corpus", split=by_year_name(2001, 2005))
    for layout in ("beir", "tsv"):
        export(corpus, tmp_path / layout, ExportOptions("global", layout=layout))
        documents, *_ = READERS[layout](tmp_path / layout, "test")
        assert documents["a"].split()[:3] == ["Tabs", "and", "lines"]


def test_what_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    starter = starter_corpus()
    with pytest.raises(InputError, match="no task is called 'locall'"):
        export(corpus, tmp_path / "out", ExportOptions(task="locall"))
    with pytest.raises(InputError, match="no split is called 'tset'"):
        export(corpus, tmp_path / "out", ExportOptions(splits=("tset",)))
    with pytest.raises(InputError, match="--form: the query .* has no text of the form context"):
        export(starter, tmp_path / "out", ExportOptions("global", form="context"))
    assert not list(tmp_path.iterdir())
    export(starter, tmp_path / "out", ExportOptions("global"))
    with pytest.raises(InputError, match="already exists"):
        export(starter, tmp_path / "out", ExportOptions("global"))
    assert export(starter, tmp_path / "out", ExportOptions("global", ("dev",)), replace=True)["queries"] == {
        "dev": 74
    }
    with pytest.raises(InputError, match="is a corpus, not an export, and is not replaced"):
        export(starter, corpus.path, ExportOptions("global"), replace=True)


def test_an_id_with_a_space(tmp_path: Path) -> None:
    papers = [PaperRecord("a b", "Parsing", year=2000), PaperRecord("c", "T", year=2010, citations=("a b",))]
    corpus = build(papers, tmp_path / "corpus", split=by_year_name(2001, 2005))
    with pytest.raises(InputError, match="the paper id 'a b' is empty or contains a space"):
        export(corpus, tmp_path / "out", ExportOptions("global"))
