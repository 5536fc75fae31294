"""``cocite recommend --like``, with and without a draft."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cocite.cli.recommend import app
from cocite.cli.seed_list import seed_rows, show_papers
from cocite.corpus.starter import starter_corpus
from cocite.errors import InputError
from cocite.retrieval.index.snapshot import IndexSnapshot

LIKED = ["bahdanau2015neural", "luong2015effective"]
DRAFT = r"""\documentclass{article}
\title{Neural machine translation}
\begin{document}
Self-attention replaced recurrence \cite{vaswani}.
Rare words are split into subword units \cite{?}.
\end{document}
"""
REFS = "@misc{vaswani, title={Attention Is All You Need}, year=2017}\n"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeds") / "index"
    IndexSnapshot.create(starter_corpus(), folder)
    return folder


def run(index: Path, *arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--index", str(index)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def likes(ids: list[str]) -> list[str]:
    return [part for id_ in ids for part in ("--like", id_)]


def test_papers_like_those_liked_without_a_draft(index: Path) -> None:
    text = run(index, *likes(LIKED), "--top-k", "3", "--year", "2016")
    assert "1. Sequence to Sequence Learning with Neural Networks" in text
    assert "linked with papers you like" in text
    found = json.loads(run(index, *likes(LIKED), "--top-k", "3", "--year", "2016", "--json"))["papers"]
    assert [paper["title"] in text for paper in found] == [True] * 3
    assert not {paper["id"] for paper in found} & set(LIKED)
    assert max(paper["year"] for paper in found) <= 2016
    [first, *_] = found
    without = json.loads(run(index, *likes(LIKED), "--dislike", first["id"], "--json"))["papers"]
    assert first["id"] not in {paper["id"] for paper in without}


@pytest.mark.parametrize(
    "form", ["arXiv:1409.0473", "https://arxiv.org/abs/1409.0473v7", "10.48550/arXiv.1409.0473"]
)
def test_a_liked_paper_may_be_named_as_in_a_list_of_have(index: Path, form: str) -> None:
    [by_id, by_form] = [run(index, "--like", name, "--json") for name in (LIKED[0], form)]
    assert by_form == by_id
    [liked], [disliked] = seed_rows(starter_corpus(), [form], ["https://aclanthology.org/D15-1166/"])
    assert starter_corpus().ids([liked, disliked]) == LIKED


def test_a_paper_is_not_in_both_lists_by_two_names(index: Path) -> None:
    with pytest.raises(InputError, match=r"^dislike: 'bahdanau2015neural' is liked, too"):
        seed_rows(starter_corpus(), [LIKED[0]], ["arXiv:1409.0473"])


def test_seeds_steer_the_gaps_of_a_draft(index: Path, tmp_path: Path) -> None:
    draft, refs = tmp_path / "paper.tex", tmp_path / "refs.bib"
    draft.write_text(DRAFT)
    refs.write_text(REFS)

    def papers(*arguments: str) -> list[Any]:
        answer = run(index, str(draft), "--bib", str(refs), "--json", "--top-k", "20", *arguments)
        return list(json.loads(answer)["gaps"][0]["papers"])

    plain = papers()
    steered = papers("--like", "bahdanau2015neural")
    assert "bahdanau2015neural" not in [paper["id"] for paper in steered]
    assert any(paper["evidence"]["seeds"] == ["bahdanau2015neural"] for paper in steered)
    cited = papers("--like-cited")
    assert any(paper["evidence"]["seeds"] == ["vaswani2017attention"] for paper in cited)
    assert not any(paper["evidence"]["seeds"] for paper in plain)
    assert plain[0]["id"] not in [paper["id"] for paper in papers("--dislike", plain[0]["id"])]


def test_nothing_found_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    show_papers([], as_json=False)
    assert "no paper of the index" in capsys.readouterr().err
    show_papers([], as_json=True)
    assert json.loads(capsys.readouterr().out) == {"papers": []}


def test_wrong_lists_name_their_option() -> None:
    corpus = starter_corpus()
    with pytest.raises(InputError, match="^--dislike: the corpus has no paper with the id 'x'"):
        seed_rows(corpus, LIKED, ["x"])
    with pytest.raises(InputError, match="is liked, too"):
        seed_rows(corpus, LIKED, LIKED[:1])
