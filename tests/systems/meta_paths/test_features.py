"""Path features against a transcription in float64 that walks each path."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW
from cocite.systems.meta_paths import features as module
from cocite.systems.meta_paths.features import IN_CITATIONS, MetaPathFeatures
from cocite.text.fields import FieldEncoder, FieldSettings

QUERIES = [30, 55, 59]


@pytest.fixture
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(60, seed=4)


@pytest.fixture
def history(corpus: Corpus) -> History:
    """All but the queries, of which the first is cited by others."""
    known = np.ones(len(corpus), bool)
    known[[*QUERIES, 3]] = False
    return History(corpus, known)


@pytest.fixture
def features(history: History, monkeypatch: pytest.MonkeyPatch) -> MetaPathFeatures:
    monkeypatch.setattr(module, "NEAREST", 7)
    settings = FieldSettings(min_papers_per_keyphrase=1)
    return MetaPathFeatures(history, FieldEncoder.build(history, settings, metadata=True))


def sets_of(features: MetaPathFeatures, kind: str) -> list[set[int]]:
    bags = features.fields.papers(features.history.corpus)
    fields = ("title", "abstract") if kind == "terms" else (kind,)
    return [
        set().union(*(bags[field][row].tolist() for field in fields))
        for row in range(len(features.history.corpus))
    ]


def by_walking(features: MetaPathFeatures, kind: str, query: int) -> dict[str, list[float]]:
    history, papers = features.history, range(len(features.history.corpus))
    sets = sets_of(features, kind)
    vocabulary = features.fields.vocabularies["words" if kind == "terms" else kind]
    known = int(history.citing.sum())

    def weight(type_: int) -> float:
        return math.log((known + 1) / (int(vocabulary.counts[type_]) + 1)) + 1 if kind == "terms" else 1.0

    def cosine(a: set[int], b: set[int]) -> float:
        lengths = [math.sqrt(sum(weight(t) ** 2 for t in types)) for types in (a, b)]
        return sum(weight(t) ** 2 for t in a & b) / math.prod(lengths) if a and b else 0.0

    similar = [0.0 if p == query else cosine(sets[query], sets[p]) for p in papers]
    weights = [similar[p] if history.citing[p] else 0.0 for p in papers]
    # Sums of floats differ in their last digits: papers that are equal to the last one of the nearest are kept.
    least = sorted(weights)[-7] - 1e-6
    weights = [w if w >= least else 0.0 for w in weights]
    walker = [w / (sum(weights) or 1.0) for w in weights]
    cites = [set(history.cites[p].tolist()) for p in papers]
    forward = [sum(walker[p] for p in papers if c in cites[p]) for c in papers]
    back = [sum(walker[p] for p in cites[c]) for c in papers]
    together = [
        sum(walker[p] * len(cites[p] & cites[other]) for p in papers for other in papers if c in cites[other])
        for c in papers
    ]
    return {
        f"P-{kind}-P": similar,
        f"P-{kind}-P>P": forward,
        f"P-{kind}-P<P": back,
        f"P-{kind}-P>P<P>P": [math.log1p(count) for count in together],
    }


@pytest.mark.parametrize("kind", ["terms", "authors", "venue", "keyphrases"])
def test_a_feature_is_the_sum_over_its_paths(features: MetaPathFeatures, kind: str) -> None:
    made = features.of_papers(np.array(QUERIES, np.int32))
    positive = 0
    for i, query in enumerate(QUERIES):
        for name, values in by_walking(features, kind, query).items():
            assert made[name][i] == pytest.approx(values, abs=1e-5), name
            positive += sum(value > 0 for value in values)
    assert positive > 20


def test_names_are_in_the_order_of_the_values(features: MetaPathFeatures) -> None:
    made = features.of_papers(np.array(QUERIES, np.int32))
    assert tuple(made) == features.names
    assert features.names[-1] == IN_CITATIONS
    counts = features.history.in_citations
    assert made[IN_CITATIONS][1] == pytest.approx(np.log1p(counts))


def test_links_that_are_not_known_change_nothing(corpus: Corpus, features: MetaPathFeatures) -> None:
    """No feature tells of a link of a paper outside the history, such as one of a later split."""
    unknown = np.flatnonzero(~features.history.citing)
    assert corpus.cites.degrees[unknown].sum() > 0
    assert not np.isin(features.history.cites.pairs()[0], unknown).any()
    bags = {field: bag.part(30, 31) for field, bag in features.fields.papers(corpus).items()}
    for name, values in features.values(bags, np.array([30], np.int32)):
        if name.endswith("P>P") and "<" not in name:
            cited = np.flatnonzero(values[0] > 0)
            assert np.isin(cited, features.history.cites.indices).all()


def test_a_query_from_outside_has_the_paths_of_its_text(corpus: Corpus, features: MetaPathFeatures) -> None:
    row = 5
    bags = {field: bag.part(row, row + 1) for field, bag in features.fields.papers(corpus).items()}
    outside = dict(features.values(bags, np.array([NO_ROW], np.int32)))
    inside = dict(features.values(bags, np.array([row], np.int32)))
    assert outside["P-terms-P"][0, row] == pytest.approx(1, abs=1e-6)
    assert inside["P-terms-P"][0, row] == 0


def test_types_that_the_corpus_lacks_have_no_features(history: History) -> None:
    made = MetaPathFeatures(history, FieldEncoder.build(history, FieldSettings()))
    assert made.names == ("P-terms-P", "P-terms-P>P", "P-terms-P<P", "P-terms-P>P<P>P", IN_CITATIONS)
