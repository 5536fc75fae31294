"""A recommender as PyTerrier's transformer, with the real pyterrier and without Java."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.evaluation import tasks
from cocite.evaluation.baselines import Bm25Baseline, lexical_index
from cocite.evaluation.experiment import run
from cocite.evaluation.metrics import means
from cocite.evaluation.pyterrier_transformer import CociteTransformer, qrels_of, topics_of
from cocite.evaluation.tasks import history_before
from cocite.pipeline.passages import MAX_CHARACTERS
from cocite.pipeline.recommender import Recommender
from cocite.protocols import Query, Ranking
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.snapshot import IndexSnapshot

GAP = "a b c [CIT] d"


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(400, seed=5, split=(2, 1))


@pytest.fixture(scope="module")
def recommender(corpus: Corpus) -> Recommender:
    return Recommender.over(None, Index.build(corpus, history_before(corpus, "test")))


@pytest.mark.parametrize("task", ["local", "global"])
def test_experiments_measure_what_cocite_measures(
    corpus: Corpus, recommender: Recommender, task: str
) -> None:
    wanted = tasks.build(corpus, task, "test")
    metrics = means(run(wanted, recommender.search, k=100).hits, ["MRR", "R@10", "P@10"])
    transformer = CociteTransformer(recommender, k=100, batch=50)
    table = pt.Experiment(
        [transformer, CociteTransformer(recommender, retriever=Bm25Baseline(lexical_index(corpus)), k=100)],
        topics_of(wanted),
        qrels_of(wanted),
        ["recip_rank", "recall_10", "P_10"],
        names=["cocite", "bm25"],
    ).set_index("name")
    ours = table.loc["cocite"]
    assert ours.to_dict() == pytest.approx(
        {"recip_rank": metrics["MRR"], "recall_10": metrics["R@10"], "P_10": metrics["P@10"]}, abs=1e-9
    )
    assert 0 < table.loc["bm25"]["recip_rank"] != ours["recip_rank"]
    assert not pt.java.started()


def test_the_result_is_the_recommenders_ranking(corpus: Corpus, recommender: Recommender) -> None:
    title = corpus.paper(390).title
    topics = pd.DataFrame(
        {"qid": ["a", "b"], "query": [f"{title} [CIT]", f"{title}\n{title}"], "tag": [1, 2]}
    )
    result = CociteTransformer(recommender, k=20, batch=1)(topics)
    assert result.columns.tolist() == ["qid", "query", "tag", "docno", "score", "rank"]
    for qid, query in {
        "a": recommender.query(context=f"{title} [CIT]"),
        "b": recommender.query(title=title, abstract=title),
    }.items():
        rows = recommender.rank([query], 20).rows[0]
        part = result[result["qid"] == qid]
        assert part["docno"].tolist() == corpus.ids(rows[rows >= 0])
        assert part["rank"].tolist() == list(range(len(part)))
        assert (np.diff(part["score"]) < 0).all()
    again = CociteTransformer(recommender, k=20)(topics)
    pd.testing.assert_frame_equal(result, again)


def test_operators_of_pyterrier(recommender: Recommender) -> None:
    topics = pt.new.queries(["translation of words", "w1 w2 [CIT]"], qid=["1", "2"])
    transformer = CociteTransformer(recommender, k=10)
    assert len((transformer % 3)(topics)) == 6
    doubled = (transformer * 2)(topics).merge(transformer(topics), on=["qid", "docno"])
    assert np.allclose(doubled["score_x"], 2 * doubled["score_y"])
    assert len(transformer.search(GAP)) == 10
    listed = transformer([{"qid": "1", "query": GAP}])
    assert [row["rank"] for row in listed] == list(range(10))
    assert pt.inspect.transformer_outputs(transformer, ["qid", "query"]) == [
        "qid",
        "query",
        "docno",
        "score",
        "rank",
    ]
    assert transformer(topics.iloc[:0]).columns.tolist() == ["qid", "query", "docno", "score", "rank"]


def test_columns_of_a_topic(corpus: Corpus, recommender: Recommender) -> None:
    paper = corpus.paper(395)
    seen: list[Query] = []

    class Recording:
        """Keeps the queries, and finds what the recommender finds."""

        name = "recording"

        def search(self, queries: list[Query], k: int) -> Ranking:
            seen.extend(queries)
            return recommender.search(queries, k)

    topics = pd.DataFrame(
        {
            "qid": ["a", "b"],
            "query": ["unread", paper.title],
            "context": ["w1 [CIT]", None],
            "title": [paper.title, float("nan")],
            "year": pd.array([2015, None], dtype="Int64"),
            "paper": [paper.id, None],
            "authors": [["Ann Lee", "Bo Wu"], None],
            "keyphrases": ["parsing", None],
            "venue": ["ACL", None],
            "sentence": [3, None],
        }
    )
    result = CociteTransformer(recommender, retriever=Recording(), k=50)(topics)
    assert [(query.id, query.context, query.title, query.year, query.paper) for query in seen] == [
        ("a", "w1 [CIT]", paper.title, 2015, 395),
        ("b", "", paper.title, None, -1),
    ]
    assert [(query.authors, query.keyphrases, query.venue, query.sentence) for query in seen] == [
        (("Ann Lee", "Bo Wu"), ("parsing",), "ACL", 3),
        ((), (), "", -1),
    ]
    by_topic = result.groupby("qid")["docno"].agg(list)
    assert paper.id not in by_topic["a"]
    assert paper.id in by_topic["b"]
    older = CociteTransformer(recommender, candidates="older", k=300)(topics)
    years = [corpus.paper(corpus.row(id_)).year for id_ in older[older["qid"] == "a"]["docno"]]
    assert max(filter(None, years)) <= 2015


def test_topics_and_judgements_of_a_task(corpus: Corpus) -> None:
    task = tasks.build(corpus, "local", "test", sample=20, seed=1)
    topics, qrels = topics_of(task), qrels_of(task)
    assert topics["qid"].tolist() == task.ids
    assert topics["paper"].tolist() == corpus.ids([query.paper for query in task.queries])
    for i, id_ in enumerate(task.ids):
        assert qrels[qrels["qid"] == id_]["docno"].tolist() == corpus.ids(task.relevant[i])
    assert set(qrels["label"]) == {1}


def test_an_index_on_disk(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("terrier") / "index"
    IndexSnapshot.create(corpus, folder)
    whole = Recommender.over(None, Index.build(corpus, History.all(corpus)))
    assert CociteTransformer.load(folder, k=7).search(GAP).equals(CociteTransformer(whole, k=7).search(GAP))


def test_what_is_refused(recommender: Recommender) -> None:
    transformer = CociteTransformer(recommender)
    for options, message in (
        ({"k": 0}, "k = 0 must be from 1"),
        ({"batch": 5000}, "batch = 5000 must be from 1"),
    ):
        with pytest.raises(InputError, match=message):
            CociteTransformer(recommender, **options)
    with pytest.raises(pt.validate.InputValidationError, match="query"):
        transformer(pd.DataFrame({"qid": ["1"]}))
    with pytest.raises(pt.validate.InputValidationError, match="docno"):
        transformer(pd.DataFrame({"qid": ["1"], "query": ["x"], "docno": ["d"]}))

    def ask(**columns: object) -> None:
        transformer(
            pd.DataFrame({"qid": ["1"], "query": ["x"]} | {name: [value] for name, value in columns.items()})
        )

    with pytest.raises(InputError, match="the query is empty"):
        ask(query=" ")
    with pytest.raises(InputError, match="the query has more than 100,000 characters"):
        ask(query="x" * (MAX_CHARACTERS + 1))
    with pytest.raises(InputError, match="qid 1: the topic has more than 100,000 characters"):
        ask(title="x" * 60_000, abstract="x" * 60_000)
    with pytest.raises(InputError, match="year: 20000 is no year"):
        ask(year=20_000)
    with pytest.raises(NotFoundError, match="no-such-paper"):
        ask(paper="no-such-paper")
