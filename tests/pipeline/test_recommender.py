from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.pipeline_queries import queries_of

from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_candidates import StagedCandidates
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import NO_ROW
from cocite.systems.learned_fusion.examples import collect_examples
from cocite.systems.learned_fusion.recipe import FusionRecipe
from cocite.systems.learned_fusion.reranker import LearnedFusion
from cocite.systems.learned_fusion.task import train_measured

RECIPE = FusionRecipe.parse({"trees": {"trees": 30, "leaves": 7, "threads": 1}})


@pytest.fixture(scope="module")
def model(
    tmp_path_factory: pytest.TempPathFactory, corpus: Corpus, first: FirstStage, later: list[int]
) -> Path:
    """A model folder that holds a fusion of both kinds, trained on half of the later papers."""
    fusions = {}
    for kind in ("local", "global"):
        queries = queries_of(corpus, later[:20], context=kind == "local")
        relevant = CSR.build(*corpus.cites.gather(later[:20]), 20)
        data = collect_examples(
            StagedCandidates(first, SecondStage(first.index), depth=100), queries, relevant
        )
        learned = train_measured(data, RECIPE)
        fusions[kind] = learned.fusion
        metrics = {"F1@20", "MRR", "R@10"}
        assert set(learned.metrics) == metrics | {f"first-stage {name}" for name in metrics}
    folder = tmp_path_factory.mktemp("model")
    LearnedFusion.save_all(folder / "fusion", fusions, {})
    return folder


@pytest.fixture(scope="module")
def recommender(model: Path, first: FirstStage) -> Recommender:
    return Recommender.over(model, first.index)


def test_recommendations_carry_scores_and_reasons(
    corpus: Corpus, recommender: Recommender, later: list[int]
) -> None:
    query = queries_of(corpus, later[-1:], context=True)[0]
    papers = recommender.recommend(query, Options(top_k=10))
    assert len(papers) == 10
    assert [paper.score for paper in papers] == sorted((paper.score for paper in papers), reverse=True)
    for paper in papers:
        record = corpus.paper(paper.row)
        assert (paper.id, paper.title, paper.year) == (record.id, record.title, record.year)
        assert list(paper.stages) == ["first-stage", "fusion"]
        assert paper.stages["fusion"] == paper.score
        text = f"{record.title} {record.abstract}".lower()
        assert all(word in text and weight > 0 for word, weight in paper.evidence.shared_words)
        for named in (*paper.evidence.cited_by, *paper.evidence.sentences):
            citing = corpus.paper(corpus.row(named.id))
            assert (named.title, named.year) == (citing.title, citing.year or None)
            assert paper.row in recommender.index.history.cites[corpus.row(named.id)]
        for sentence in paper.evidence.sentences:
            assert corpus.row(sentence.id) != query.paper
            assert sentence.sentence in corpus.contexts.table["text"].to_pylist()
    assert any(paper.evidence.sentences for paper in papers)
    assert any(paper.evidence.cited_by for paper in papers)


def test_a_run_is_sorted_whole_and_begins_as_the_recommendations(
    corpus: Corpus, recommender: Recommender, later: list[int]
) -> None:
    queries = queries_of(corpus, later[20:26], context=False)
    ranking = recommender.rank(queries, 400, depth=50)
    assert ranking.rows.shape == (6, 400)
    assert (np.diff(ranking.scores, axis=1) <= 0).all()
    for i, query in enumerate(queries):
        rows = ranking.rows[i]
        assert len(set(rows.tolist())) == 400
        assert query.paper not in rows
        assert NO_ROW not in rows
        top = recommender.recommend(query, Options(top_k=10, depth=50))
        assert [paper.row for paper in top] == rows[:10].tolist()


def test_a_loaded_fusion_scores_as_the_trained_one(
    model: Path, corpus: Corpus, first: FirstStage, later: list[int]
) -> None:
    fusion = LearnedFusion.load_all(model / "fusion")["global"]
    signals = first.retrieve(queries_of(corpus, later[:2], context=False), Options(depth=40)).signals
    scores = fusion.scores(signals)
    assert scores.shape == (2, 40)
    np.testing.assert_array_equal(scores, LearnedFusion(fusion.booster, fusion.names).scores(signals))
    with pytest.raises(InputError, match="reads the signal"):
        fusion.scores({name: values for name, values in signals.items() if name != fusion.names[0]})


def test_training_is_a_function_of_its_seed(corpus: Corpus, first: FirstStage, later: list[int]) -> None:
    queries = queries_of(corpus, later[:20], context=False)
    relevant = CSR.build(*corpus.cites.gather(later[:20]), 20)
    data = collect_examples(
        StagedCandidates(first, SecondStage(first.index), depth=60),
        queries,
        relevant,
        without=("neighbours",),
    )
    assert not any(name.startswith("neighbours") for name in data.signals)
    first_model, second_model = (
        train_measured(data, RECIPE).fusion.booster.model_to_string() for _ in range(2)
    )
    assert first_model == second_model


def test_mistakes_are_told(tmp_path: Path, recommender: Recommender) -> None:
    with pytest.raises(InputError, match="empty"):
        recommender.query(title="  ")
    with pytest.raises(NotFoundError, match="no paper has the id"):
        recommender.query(title="a", exclude=["nobody"])
    with pytest.raises(NotFoundError, match="holds none of"):
        Recommender.over(tmp_path, recommender.index)
    with pytest.raises(NotFoundError, match="no such model folder"):
        Recommender.over(tmp_path / "none", recommender.index)


def test_without_a_model_the_blend_decides(corpus: Corpus, first: FirstStage, later: list[int]) -> None:
    untrained = Recommender.over(None, first.index)
    query = queries_of(corpus, later[:1], context=False)
    assert untrained.rank(query, 30).rows.tolist() == first.search(query, 30).rows.tolist()
    assert list(untrained.recommend(query[0])[0].stages) == ["first-stage"]


def test_a_fusion_is_not_loaded_without_what_it_reads(tmp_path: Path, model: Path, first: FirstStage) -> None:
    fusion = LearnedFusion.load_all(model / "fusion")["global"]
    for name, message in (
        ("vectors", "earlier version"),
        ("sentence:manuscript", "holds no sentence"),
        ("nnrank", "holds no nnrank"),
    ):
        other = LearnedFusion(fusion.booster, (name, *fusion.names[1:]))
        LearnedFusion.save_all(tmp_path / name / "fusion", {"global": other}, {})
        with pytest.raises(InputError, match=message):
            Recommender.over(tmp_path / name, first.index)
