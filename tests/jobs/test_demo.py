from __future__ import annotations

import os
import socket
from pathlib import Path

import httpx
import numpy as np
import pytest
from helpers.command_line import call

from cocite.artifacts import publish
from cocite.corpus.builder import build
from cocite.corpus.records import SPLITS, PaperRecord
from cocite.corpus.starter import build_starter
from cocite.errors import CociteError, InputError
from cocite.locks import locked
from cocite_jobs import demo


def test_a_corpus_without_a_split_gets_years_that_leave_dev_and_test(tmp_path: Path) -> None:
    papers = [
        PaperRecord(f"p{i}", f"title {i}", year=1990 + i // 20, citations=(f"p{i // 2}",) if i else ())
        for i in range(300)
    ]
    corpus = build(papers, tmp_path / "c")
    years = demo.split_years(corpus)
    assert years is not None
    train, dev = years
    citing = corpus.years[corpus.cites.degrees > 0]
    shares = [np.mean(citing <= train), np.mean((citing > train) & (citing <= dev)), np.mean(citing > dev)]
    assert min(shares) > 0
    assert shares[0] > 0.5


def test_an_existing_split_stays_and_the_query_is_of_the_test_split(tmp_path: Path) -> None:
    corpus = build_starter(tmp_path / "c")
    assert demo.split_years(corpus) is None
    query = demo.demo_query(corpus)
    assert query.paper.year >= 2020
    assert query.request["exclude"] == [query.paper.id]
    assert query.request["year_to"] == query.paper.year
    assert query.cites == set(query.paper.citations) != set()
    test = corpus.split == SPLITS.index("test")
    assert len(query.cites) == max(len(corpus.paper(int(row)).citations) for row in np.flatnonzero(test))


def test_years_that_cannot_be_split_are_refused(tmp_path: Path) -> None:
    papers = [PaperRecord(f"p{i}", f"title {i}", year=2000, citations=("p0",) if i else ()) for i in range(5)]
    corpus = build(papers, tmp_path / "c")
    with pytest.raises(InputError, match="needs three"):
        demo.split_years(corpus)


def test_a_taken_port_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with (
            pytest.raises(InputError, match=f"port {port} is taken"),
            demo.endpoint(demo.DemoFolders.under(tmp_path), port),
        ):
            pass


def test_an_endpoint_that_cannot_start_says_why(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (
        pytest.raises(CociteError, match=r"exit code 2 before it was ready: cocite: .*holds no index"),
        demo.endpoint(demo.DemoFolders.under(tmp_path), port),
    ):
        pass


def test_a_taken_port_or_folder_is_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "demo"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, err = call(capsys, "demo", "--to", folder, "--port", port)
        assert (code, err) == (2, f"cocite: --port: port {port} is taken (name another one, as PORT=8001)\n")
    (folder / "model").mkdir(parents=True)
    (folder / ".cocite-demo").touch()
    with locked(tmp_path / ".demo.lock"):
        code, _, err = call(capsys, "demo", "--to", folder, "--port", port)
    assert code == 4
    assert f"{folder}: process {os.getpid()} is at work here" in err
    assert (folder / "model").is_dir(), "the other demo's"


def test_a_store_is_told_from_records_and_other_artifacts(tmp_path: Path) -> None:
    corpus = build_starter(tmp_path / "store")
    with publish(tmp_path / "model", kind="nnselect", meta={}):
        pass
    (tmp_path / "records").mkdir()
    assert demo.is_store(corpus.path)
    assert not any(demo.is_store(tmp_path / name) for name in ("model", "records", "none"))


def test_an_answer_that_is_a_refusal_is_an_error_with_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def post(url: str, json: dict[str, str], timeout: float) -> httpx.Response:
        assert url == "http://host/v1/recommend"
        return httpx.Response(200 if json else 422, text='{"papers": []}' if json else "title: is required")

    monkeypatch.setattr(httpx, "post", post)
    assert demo.recommend("http://host", {"title": "x"}) == {"papers": []}
    with pytest.raises(CociteError, match="^http://host: answered 422: title: is required"):
        demo.recommend("http://host", {})


def test_the_endpoint_is_the_command_that_a_user_would_type(tmp_path: Path) -> None:
    folders = demo.DemoFolders.under(tmp_path)
    assert demo.serve_arguments(folders, 8001) == [
        *("serve", "--model", f"{tmp_path}/model", "--index", f"{tmp_path}/index", "--port", "8001")
    ]
