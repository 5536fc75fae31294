"""The trained baselines on a synthetic corpus whose contexts tell of what they cite."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cocite.corpus.store import Corpus
from cocite.errors import ConfigError, InputError
from cocite.evaluation import experiment, tasks
from cocite.evaluation.metrics import means
from cocite.protocols import NO_ROW, Query, Ranking, Retriever
from cocite.systems.baselines.bert_gcn import BertGcnSettings
from cocite.systems.baselines.dacr import DacrSettings
from cocite.systems.baselines.doc2vec import Doc2VecSettings
from cocite.systems.baselines.dual import DualSettings
from cocite.systems.baselines.hyperdoc2vec import HyperDoc2VecSettings
from cocite.systems.baselines.ncn import NcnSettings
from cocite.systems.baselines.sent2vec import Sent2VecSettings
from cocite.systems.baselines.texts import CitingTexts
from cocite.systems.baselines.train import NAMES, RERANKERS, BaselineSettings, TrainedBaselines
from cocite.systems.baselines.word2vec import Word2VecSettings
from cocite.text.queries import context_queries

SMALL = BaselineSettings(
    w2v=Word2VecSettings(dimension=16, epochs=10),
    d2v=Doc2VecSettings(dimension=16, epochs=10),
    hd2v=HyperDoc2VecSettings(epochs=8, batch=64, noise=50, learning_rate=0.03),
    dacr=DacrSettings(epochs=4, batch=64, noise=50, heads=2, words=20, learning_rate=0.03),
    s2v=Sent2VecSettings(dimension=16, buckets=2000, epochs=6, threshold=0.01),
)

TINY = {
    "ncn": NcnSettings(dimension=8, channels=8, epochs=1, batch=128),
    "dual": DualSettings(hidden=6, attention=4, author_dimension=4, channels=4),
    "bertgcn": BertGcnSettings(inner=8, graph_hidden=4, graph=4, graph_epochs=2, epochs=1),
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory):
    return tmp_path_factory.mktemp("baselines")


@pytest.fixture(scope="module")
def opened(texts: CitingTexts, cache) -> dict[str, Retriever]:
    made = TrainedBaselines(texts.history, cache, SMALL)
    return {name: made.open(name) for name in NAMES}


def recall(corpus: Corpus, retriever: Retriever, k: int = 20) -> float:
    task = tasks.local(corpus, "dev")
    return means(experiment.run(task, retriever.search, k=k).hits, [f"R@{k}"])[f"R@{k}"]


@pytest.mark.parametrize(("name", "times"), [("w2v", 3), ("d2v", 1.5), ("hd2v", 3), ("dacr", 3), ("s2v", 2)])
def test_it_finds_more_than_chance(citing_corpus, opened, name, times) -> None:
    chance = 20 / len(citing_corpus)
    assert recall(citing_corpus, opened[name]) > times * chance


def test_papers_never_cited_have_a_vector_from_their_words_alone(texts, opened) -> None:
    cited = np.zeros(len(texts.history.corpus), bool)
    cited[texts.cited.indices] = True
    assert not cited.all()
    np.testing.assert_array_equal(opened["w2v"].known, cited)
    for name in ("d2v", "hd2v", "dacr", "s2v"):
        assert opened[name].known.all()
    text = texts.history.corpus.contexts.take("text", [0])[0]
    found = opened["w2v"].search([Query("q", context=text)], len(cited)).rows[0]
    assert set(found.tolist()) <= {NO_ROW, *np.flatnonzero(cited).tolist()}


def test_only_doc2vec_ranks_by_the_cosine(opened) -> None:
    assert [name for name in NAMES if name != "s2v" and opened[name].cosine] == ["d2v"]


@pytest.mark.parametrize("name", ["w2v", "hd2v", "dacr"])
def test_each_ranks_by_the_cosine_where_it_is_told_and_keeps_its_weights(texts, opened, cache, name) -> None:
    before = sorted(path.name for path in cache.iterdir())
    own = getattr(SMALL, name).model_copy(update={"cosine": True})
    settings = SMALL.model_copy(update={name: own})
    cosine = TrainedBaselines(texts.history, cache, settings).open(name)
    assert sorted(path.name for path in cache.iterdir()) == before, "nothing is trained again"
    query = context_queries(texts.history.corpus, texts.history.contexts[:1])[0]
    vector, papers = opened[name].encode([query])[0].tolist(), opened[name].papers.tolist()
    found = cosine.search([query], 5)
    for row, score in zip(found.rows[0].tolist(), found.scores[0].tolist(), strict=True):
        product = math.fsum(a * b for a, b in zip(vector, papers[row], strict=True))
        assert score == pytest.approx(product / math.hypot(*vector) / math.hypot(*papers[row]), abs=1e-5)
    inner = opened[name].search([query], 5)
    assert not np.allclose(inner.scores, found.scores)


@pytest.mark.parametrize("name", list(NAMES))
def test_each_reads_manuscripts_where_it_is_told_and_keeps_its_weights(texts, opened, cache, name) -> None:
    before = sorted(path.name for path in cache.iterdir())
    wide = TrainedBaselines(texts.history, cache, SMALL.model_copy(update={"reads": "manuscript"})).open(name)
    assert sorted(path.name for path in cache.iterdir()) == before, "nothing is trained again"
    queries = context_queries(texts.history.corpus, texts.history.contexts[:5])
    np.testing.assert_array_equal(wide.papers, opened[name].papers)
    assert not np.allclose(wide.encode(queries), opened[name].encode(queries))


@pytest.mark.parametrize("name", list(NAMES))
def test_own_and_excluded_papers_are_not_found(citing_corpus, opened, name) -> None:
    text = citing_corpus.contexts.take("text", [0])[0]
    best = int(opened[name].search([Query("a", context=text)], 1).rows[0, 0])
    queries = [
        Query("b", context=text, paper=best),
        Query("c", context=text, exclude=(best,)),
        Query("d", context="unheardof words"),
    ]
    found = opened[name].search(queries, 5)
    assert not (found.rows[:2] == best).any()
    assert (found.rows[2] == NO_ROW).all()
    assert (np.diff(found.scores[:2]) <= 0).all()


def test_a_second_call_trains_nothing_and_finds_the_same(texts, cache, opened, monkeypatch) -> None:
    monkeypatch.setattr(TrainedBaselines, "_train", lambda *_: pytest.fail("trained again"))
    monkeypatch.setattr(CitingTexts, "of", lambda *_: pytest.fail("read again"))
    again = TrainedBaselines(texts.history, cache, SMALL)
    text = texts.history.corpus.contexts.take("text", [3])[0]
    for name in NAMES:
        mine, theirs = (
            one.search([Query("q", context=text)], 10) for one in (again.open(name), opened[name])
        )
        np.testing.assert_array_equal(mine.rows, theirs.rows)
        np.testing.assert_array_equal(mine.scores, theirs.scores)


def test_the_seed_alone_decides(texts, tmp_path, opened) -> None:
    same = TrainedBaselines(texts.history, tmp_path / "same", SMALL)
    other = TrainedBaselines(texts.history, tmp_path / "other", SMALL.model_copy(update={"seed": 1}))
    for name in NAMES:
        np.testing.assert_array_equal(same.open(name).papers, opened[name].papers)
    assert (other.open("w2v").papers != opened["w2v"].papers).any()


def test_a_damaged_one_is_trained_again(texts, tmp_path, opened) -> None:
    made = TrainedBaselines(texts.history, tmp_path, SMALL)
    made.open("w2v")
    [folder] = tmp_path.glob("w2v-*")
    (folder / "model.safetensors").write_bytes(b"broken")
    np.testing.assert_array_equal(made.open("w2v").papers, opened["w2v"].papers)


def test_an_unknown_name_is_refused(texts, tmp_path) -> None:
    with pytest.raises(InputError, match="did you mean 'w2v'"):
        TrainedBaselines(texts.history, tmp_path, SMALL).open("w2vec")


@pytest.mark.parametrize("name", list(RERANKERS))
def test_a_reranker_is_kept_and_found_again(name, texts, tmp_path, monkeypatch) -> None:
    small = SMALL.model_copy(update=TINY)
    first = TrainedBaselines(texts.history, tmp_path, small).open_reranker(name)
    monkeypatch.setattr(TrainedBaselines, "_train", lambda *_: pytest.fail("trained again"))
    again = TrainedBaselines(texts.history, tmp_path, small).open_reranker(name)
    query = Query("q", context=texts.history.corpus.contexts.take("text", [3])[0])
    candidates = Ranking(np.array([[4, 9]], np.int32), np.zeros((1, 2), np.float32))
    np.testing.assert_array_equal(again.score([query], candidates), first.score([query], candidates))
    assert first.name == RERANKERS[name]


def test_a_retriever_is_no_reranker(texts, tmp_path) -> None:
    with pytest.raises(InputError, match=r"no baseline that reranks is called 'w2v'"):
        TrainedBaselines(texts.history, tmp_path, SMALL).open_reranker("w2v")


def test_heads_divide_the_dimension(texts, tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"dacr.heads \(4\) does not divide"):
        BaselineSettings.parse({"d2v": {"dimension": 18}, "dacr": {"heads": 4}})
    odd = SMALL.model_copy(update={**TINY, "w2v": Word2VecSettings(dimension=9, epochs=1)})
    with pytest.raises(InputError, match=r"w2v.dimension is 9, which bertgcn.heads \(4\) does not divide"):
        TrainedBaselines(texts.history, tmp_path, odd).open_reranker("bertgcn")
