from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora
from numpy.typing import NDArray

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.records import ContextRecord, PaperRecord, SentenceRecord
from cocite.corpus.splits import Split
from cocite.corpus.store import Corpus
from cocite.corpus.synth import LAST_YEAR, Synthetic

DEPTH = 20


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(3000, seed=1)


def recall(scores: NDArray[np.float64], targets: NDArray[np.int64]) -> float:
    """Share of targets among the best of their row of scores."""
    rank = (scores > np.take_along_axis(scores, targets[:, None], 1)).sum(1)
    return float((rank < DEPTH).mean())


def overlap(corpus: Corpus, texts: list[str]) -> NDArray[np.float64]:
    """(Q, N) summed inverse document frequencies of the distinct words a text shares with a paper."""
    numbers: dict[str, int] = {}
    columns = [corpus.papers.take(name, range(len(corpus))) for name in ("title", "abstract")]
    papers = [
        {numbers.setdefault(w, len(numbers)) for w in f"{t} {a}".split()}
        for t, a in zip(*columns, strict=True)
    ]
    table = np.zeros((len(numbers), len(papers)), np.float32)
    for i, found in enumerate(papers):
        table[list(found), i] = 1
    weight = np.log(len(papers) / table.sum(1))
    known = [[numbers[w] for w in set(text.split()) if w in numbers] for text in texts]
    return np.stack([(weight[found][:, None] * table[found]).sum(0) for found in known])


def test_content_predicts_what_is_cited(corpus: Corpus) -> None:
    """Words of a held-out context find its anchor far better than chance, which is DEPTH / N = 0.7 %."""
    test = np.flatnonzero(Split.of(corpus).test[corpus.context_citing])[::8]
    first = corpus.context_cited.indices[corpus.context_cited.indptr[test]].astype(np.int64)
    scores = overlap(corpus, corpus.contexts.take("text", test))
    scores[np.arange(len(test)), np.asarray(corpus.context_citing)[test]] = -1
    assert recall(scores, first) > 0.2


def test_cocitation_predicts_what_is_cited_and_words_do_not(corpus: Corpus) -> None:
    """Given one member of a held-out group, past co-citation finds another; their words hardly do."""
    until = int(corpus.years[Split.of(corpus).dev].max())
    together, times = History.until(corpus, until).cocitations
    several = np.flatnonzero(
        Split.of(corpus).test[corpus.context_citing] & (corpus.context_cited.degrees > 1)
    )[::8]
    starts = corpus.context_cited.indptr[several]
    given = corpus.context_cited.indices[starts].astype(np.int64)
    wanted = corpus.context_cited.indices[starts + 1].astype(np.int64)
    scores = np.random.default_rng(0).random((len(several), len(corpus))) * 1e-6
    for i, paper in enumerate(given.tolist()):
        scores[i, together[paper]] += times[together.indptr[paper] : together.indptr[paper + 1]]
    by_words = overlap(corpus, corpus.papers.take("abstract", given))
    by_words[np.arange(len(given)), given] = -1
    assert recall(scores, wanted) > 0.5
    assert recall(by_words, wanted) < recall(scores, wanted) - 0.2


def test_structure(corpus: Corpus) -> None:
    assert len(corpus) == 3000
    assert corpus.counts["rules"] == dict.fromkeys(corpus.counts["rules"], 0)
    rows, cited = corpus.cites.pairs()
    assert (cited < rows).all()
    assert (np.diff(corpus.years) >= 0).all()
    assert corpus.years[-1] == LAST_YEAR
    degrees = np.sort(corpus.cited_by.degrees)
    # Preferential attachment: few papers draw many links.
    assert degrees[-1] > 4 * degrees.mean()
    assert 5 < corpus.cites.degrees[1000:].mean() < 12
    assert 3.5 < len(corpus.contexts) / len(corpus) < 4.5
    assert 0.3 < (corpus.context_cited.degrees > 1).mean() < 0.9
    assert all(text.count("TARGETCIT") == 1 for text in corpus.contexts.take("text", range(200)))
    assert set(corpus.split.tolist()) == {1, 2, 3}


def test_a_corpus_is_a_function_of_its_settings(tmp_path: Path) -> None:
    one, two = list(Synthetic(300, seed=4)), list(Synthetic(300, seed=4))
    assert one == two
    assert one != list(Synthetic(300, seed=5))
    assert build(one, tmp_path / "1").version == build(two, tmp_path / "2").version


def test_rate_and_bodies() -> None:
    assert not [r for r in Synthetic(200, context_rate=0) if isinstance(r, ContextRecord)]
    found = list(Synthetic(200, context_rate=1, sentences=True))
    contexts = [r for r in found if isinstance(r, ContextRecord)]
    body = {(r.paper, r.position): r.text for r in found if isinstance(r, SentenceRecord)}
    assert contexts
    assert all(f"[[CIT:{c.group}]]" in body[c.citing, c.sentence] for c in contexts)


@pytest.mark.parametrize("count", [10, 50, 1000])
def test_any_size(count: int) -> None:
    assert sum(isinstance(r, PaperRecord) for r in Synthetic(count, seed=2)) == count
