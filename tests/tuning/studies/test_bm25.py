"""The study of BM25: its trials rank as a new index does, and so do the commands that use what it found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.study_hits import dev_of, hits_of, ignore_metrics, same_ranks, same_to
from helpers.usage_commands import lines_of, parsed_usage, read_run, run_command, run_sweep_command

from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.errors import ConfigError
from cocite.protocols import Ranking
from cocite.retrieval.dense_search import keep_positive
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.index.documents import paper_texts
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.query_forms import QueryForm, query_texts
from cocite_tuning.studies.bm25 import Bm25Study, shared_words, with_parameters
from cocite_tuning.studies.bm25_settings import Bm25StudySettings
from cocite_tuning.studies.dev_queries import DevQueries
from cocite_tuning.sweep.result import SweepResult


@pytest.fixture(scope="module")
def bm25(store: Path, shared: Path) -> Bm25Study:
    study = Bm25Study(Bm25StudySettings(queries=80, pool=100), store, shared)
    study.prepare()
    return study


@pytest.mark.parametrize(
    "params",
    [{}, {"k1": 0.4, "b": 0.1}, {"k1": 2.5, "b": 0.9, "form": "context"}, {"field": "title", "k1": 0.9}],
)
def test_bm25_is_what_a_new_index_scores(bm25: Bm25Study, params: dict[str, Any]) -> None:
    dev = dev_of(bm25)
    field, form = params.get("field", "text"), QueryForm(params.get("form", "context+title"))
    fresh = Bm25Index.build(
        paper_texts(dev.index.corpus, field), k1=params.get("k1", 1.2), b=params.get("b", 0.75)
    )
    scores = keep_positive(
        dev.index.forbid(fresh.scores(query_texts(dev.task.queries, form)), dev.task.queries)
    )
    for ours, theirs in zip(
        (bm25.hits(params), bm25.hits(params, held_out=True)),
        hits_of(bm25, Ranking.best(scores, 300), dev),
        strict=True,
    ):
        # A sum in another order may turn two papers of equal score around.
        assert same_to(100, ours, theirs) > 0.98


def test_shared_words_are_those_that_python_counts() -> None:
    texts = ["graph neural networks for graphs", "neural machine translation", "graph kernels and graph cuts"]
    queries = ["graph graph translation", "kernels", ""]
    index = Bm25Index.build(texts)
    papers = CSR.build(np.array([0, 0, 0, 1, 2]), np.array([0, 1, 2, 2, 0]), 3)
    cells, times, weights = shared_words(index, queries, papers)
    tokens = [index.tokenizer.words(text) for text in texts]
    wanted = []
    for cell, (query, paper) in enumerate(zip(*papers.pairs(), strict=True)):
        words = index.tokenizer.words(queries[query])
        for word in set(words) & set(tokens[paper]):
            idf = float(index.idf[index.vocabulary[word]])
            wanted.append((cell, tokens[paper].count(word), words.count(word) * idf))
    got = sorted(zip(cells.tolist(), times.tolist(), weights.tolist(), strict=True))
    assert [entry[:2] for entry in got] == [entry[:2] for entry in sorted(wanted)]
    assert [w for *_, w in got] == pytest.approx([w for *_, w in sorted(wanted)])


def test_other_parameters_need_no_other_index() -> None:
    texts = ["graph neural networks", "machine translation with neural attention", "graph cuts"]
    index = with_parameters(Bm25Index.build(texts), 0.4, 0.1)
    np.testing.assert_allclose(
        index.scores(["graph attention"]), Bm25Index.build(texts, k1=0.4, b=0.1).scores(["graph attention"])
    )


def test_a_wrong_parameter_is_refused(bm25: Bm25Study, store: Path, shared: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'k2' \(did you mean 'k1'"):
        bm25.run({"k2": 1}, ignore_metrics, Path())
    with pytest.raises(ConfigError, match=r"b: input should be less than or equal to 1, got 1\.5"):
        bm25.run({"b": 1.5}, ignore_metrics, Path())
    with pytest.raises(ConfigError, match="form: input should be 'context"):
        bm25.run({"form": "abstract"}, ignore_metrics, Path())
    with pytest.raises(ConfigError, match="R@500 looks deeper than the 100 papers"):
        Bm25Study(Bm25StudySettings(pool=100, metrics=("R@500",)), store, shared)


def test_bm25_is_used_by_an_index_of_its_own(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"kind": "bm25", "queries": 80, "pool": 100, "fields": ["text"]}
    space = {"k1": {"uniform": [2, 4]}, "b": {"uniform": [0, 0.4]}, "form": {"choice": ["context"]}}
    answer = run_sweep_command(
        capsys, store, study=settings, space=space, metric={"name": "MRR"}, budget={"trials": 3}
    )
    params, commands = answer["best"]["params"], answer["use"]["commands"]
    assert len(commands) == 2
    study = Bm25Study(Bm25StudySettings.parse(settings), store, Path("found/shared"))
    dev = DevQueries(study.settings, store)
    Path("queries.jsonl").write_text(lines_of(dev.task.queries, dev.corpus))
    run_command(capsys, commands[0])
    assert IndexSnapshot.open("index").bm25.changed() == {"text.k1": params["k1"], "text.b": params["b"]}
    run_command(capsys, commands[1], "--k", "300")
    ranking = read_run(Path("run.trec"), dev.task.queries, dev.corpus, 300)
    # A sum in another order may turn two papers of equal score around.
    assert same_ranks(study, params, ranking, dev) > 0.98
    assert same_ranks(study, {"form": "context"}, ranking, dev) < 0.9, "the usual k1 and b rank otherwise"
    # The comparison on held-out queries is reported beside it.
    result = SweepResult.read(Path("found"))
    assert result is not None
    assert result.confirmation is not None
    assert result.confirmation == study.confirm(params, "MRR")
    assert answer["confirmation"]["queries"] == len(study.cited) - study.tuning_count
    run_command(capsys, "cocite tune report found")
    page = Path("found/report.html").read_text()
    assert f"On {result.confirmation.sample()} that no trial saw: MRR" in page
    assert "cocite index build" in page


def test_a_field_or_a_model_changes_the_commands(store: Path, model: Path, tmp_path: Path) -> None:
    study = Bm25Study(Bm25StudySettings(model=model), store, tmp_path / "shared")
    [build, retrain], notes = parsed_usage(study, {"k1": 2.0, "field": "title"}, store, tmp_path)
    assert build["bm25"] == ["title.k1=2.0"]
    assert (retrain["recipe"].reserve, str(retrain["recipe"].index)) == (0.6, "index")
    assert "No command ranks by the title alone" in notes
    for bound in ({"known_until": 2016}, {"before_split": "test"}):
        IndexSnapshot.create(Corpus.open(store), tmp_path / "index", **bound)  # type: ignore[arg-type]
        tuned = Bm25Study(Bm25StudySettings(index=tmp_path / "index"), store, tmp_path / "shared")
        [build, _], _ = parsed_usage(tuned, {"k1": 2.0}, store, tmp_path)
        assert {name: build[name] for name in ("known_until", "before_split") if build[name]} == bound
