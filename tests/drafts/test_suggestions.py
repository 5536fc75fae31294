"""The sentences of a draft that need a citation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.citing_papers import PLAIN, citing_corpus

from cocite.corpus.history import History
from cocite.corpus.starter import starter_corpus
from cocite.drafts.advice import Adviser
from cocite.drafts.draft import Draft
from cocite.drafts.reading import read_draft, read_text
from cocite.drafts.suggestions import load_classifier, papers_of, suggestions
from cocite.errors import NotFoundError
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.index import Index
from cocite.systems.citing_sentences.classifier import CitingSentenceClassifier
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.train import train

NEEDY = "Earlier work on statistical translation was proposed by others and extended later."
DRAFT = rf"""\documentclass{{article}}
\title{{Neural machine translation}}
\begin{{document}}
\begin{{abstract}}
Earlier work on dialogue was proposed by others and extended later.
\end{{abstract}}
\section{{Related Work}}
{PLAIN.format("translation")}.
{NEEDY.replace("translation was", "translation" + chr(10) + "was")}
Earlier work on tagging was proposed by others \cite{{lee}} and extended later.
Earlier work on parsing was proposed by others \cite{{?}} and extended later.
Earlier work on alignment was proposed by others and extended later, as all know.
\end{{document}}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("citing")
    recipe = load_recipe("citing-sentences", ["width=4096", "features=[words]"])
    train(recipe, citing_corpus(folder / "corpus"), folder / "model")
    return folder / "model"


@pytest.fixture(scope="module")
def classifier(model: Path) -> CitingSentenceClassifier:
    loaded = load_classifier(model)
    # On dev the two kinds of sentences are so different that any threshold between them is the best.
    return replace(loaded, settings=loaded.settings.model_copy(update={"threshold": 0.5}))


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    (tmp_path / "paper.tex").write_text(DRAFT)
    return read_draft(tmp_path / "paper.tex")


def test_what_cites_nothing_and_sounds_as_if_it_should_is_suggested(
    draft: Draft, classifier: CitingSentenceClassifier
) -> None:
    found = suggestions(draft, classifier, 5)
    assert [one.gap.sentence.split()[3:5] for one in found] == [
        ["statistical", "translation"],
        ["alignment", "was"],
    ]
    assert all(classifier.settings.threshold <= one.probability <= 1 for one in found)
    first = found[0].gap
    assert str(first.place) == "paper.tex:9"
    assert DRAFT[first.place.start : first.place.end].startswith(
        "Earlier work on statistical translation\nwas"
    )
    assert "extended later TARGETCIT." in first.context
    assert "CIT" not in first.context.replace("TARGETCIT", "")


def test_the_most_probable_are_kept_in_the_order_of_the_text(
    draft: Draft, classifier: CitingSentenceClassifier
) -> None:
    every = suggestions(draft, classifier, 5)
    [one] = suggestions(draft, classifier, 1)
    assert one.probability == max(other.probability for other in every)
    assert suggestions(read_text(f"{PLAIN.format('trees')}.", "text"), classifier, 5) == []


def test_places_of_other_forms(classifier: CitingSentenceClassifier, tmp_path: Path) -> None:
    accented = NEEDY.replace("statistical", 'na\\"ive $x$')
    [one] = suggestions(read_text(f"Short. {accented} Short.", "latex"), classifier, 5)
    assert (one.gap.place.start, one.gap.place.end) == (7, 7 + len(accented))
    [one] = suggestions(
        read_text(f"# Title\n\n# Work\n\n*Some* words here.\n\n{NEEDY}\n", "markdown"), classifier, 5
    )
    assert str(one.gap.place) == "line 7"
    import docx

    document = docx.Document()
    for text in ("A title", f"{PLAIN.format('trees')}.", NEEDY):
        document.add_paragraph(text)
    document.save(str(tmp_path / "paper.docx"))
    [one] = suggestions(read_draft(tmp_path / "paper.docx"), classifier, 5)
    assert str(one.gap.place) == "paper.docx, paragraph 3"


def test_papers_are_ranked_as_for_a_gap(classifier: CitingSentenceClassifier) -> None:
    corpus = starter_corpus()
    recommender = Recommender.over(None, Index.build(corpus, History.all(corpus)))
    asked = read_text(NEEDY, "text")
    marked = read_text(NEEDY.replace(".", " [CIT]."), "text")
    plain = recommender.recommend(recommender.query(context=marked.gaps[0].context), Options(top_k=2))
    rows = [paper.row for paper in plain]
    liked = ({"like": rows[:1]}, {"dislike": rows[:1]}, {"like": rows[:1], "dislike": rows[1:]})
    for own in ({}, {"year": 2015}, {"authors": ("Rico Sennrich",)}, *liked):
        [found] = suggestions(asked, classifier, 5)
        [suggested] = papers_of(Adviser(recommender, asked, **own), [found], Options(top_k=3))
        [gap] = Adviser(recommender, marked, **own).gaps(Options(top_k=3))
        assert suggested.advice.papers == gap.papers
        named = {*own.get("like", []), *own.get("dislike", [])}
        assert named.isdisjoint(paper.row for paper in suggested.advice.papers)
    assert len(gap.papers) == 3
    assert suggested.heading == f"Suggestion 1, line 1, probability {suggested.probability:.2f}"


def test_a_model_folder_without_a_classifier(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        with pytest.raises(NotFoundError, match=r"no model that knows .*cocite train citing-sentences"):
            load_classifier(folder)
