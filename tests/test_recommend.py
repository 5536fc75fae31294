"""``cocite.recommend``: the whole pipeline in one call."""

from __future__ import annotations

from pathlib import Path

import pytest

import cocite
from cocite.corpus.starter import starter_corpus
from cocite.errors import CociteError, InputError, NotFoundError
from cocite.pipeline import Options, Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recommend") / "index"
    IndexSnapshot.create(starter_corpus(), folder)
    return folder


@pytest.mark.parametrize(
    "query",
    [
        {"context": "Rare words are split into subword units [CIT].", "year": 2016},
        {"title": "Parsing", "abstract": "We parse sentences.", "authors": ("Ann Lee",), "venue": "ACL"},
        {"title": "Attention", "exclude": ("vaswani2017attention",)},
    ],
)
def test_one_call_is_the_recommender(index: Path, query: dict[str, object]) -> None:
    recommender = Recommender.load(None, index)
    wanted = recommender.recommend(recommender.query(**query), Options(top_k=4))  # type: ignore[arg-type]
    found = cocite.recommend(index, top_k=4, **query)  # type: ignore[arg-type]
    assert found == wanted
    assert "<table" in found._repr_html_()


def test_a_paper_is_left_out_by_any_of_its_ids(index: Path) -> None:
    own = cocite.recommend(index, title="Attention", exclude=["vaswani2017attention"], top_k=4)
    assert cocite.recommend(index, title="Attention", exclude=["arXiv:1706.03762"], top_k=4) == own
    assert cocite.recommend(index, title="Attention", top_k=4) != own


def test_what_is_refused(index: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the query is empty"):
        cocite.recommend(index)
    with pytest.raises(NotFoundError, match="no paper has the id 'nobody'"):
        cocite.recommend(index, title="Parsing", exclude=["nobody"])
    with pytest.raises(InputError, match="top_k = 0"):
        cocite.recommend(index, title="Parsing", top_k=0)
    with pytest.raises(CociteError, match="gone"):
        cocite.recommend(tmp_path / "gone", title="Parsing")
    with pytest.raises(CociteError, match="gone"):
        cocite.recommend(index, model=tmp_path / "gone", title="Parsing")
