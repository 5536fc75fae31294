"""Commands whose inputs and outputs lie elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.object_stores import ObjectStore
from helpers.untrained_encoders import untrained_encoders

from cocite.artifacts import verify
from cocite.cli.locations import Elsewhere, input_location, output_location, shown
from cocite.corpus.store import Corpus
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location


def test_paths_are_local_and_uris_elsewhere() -> None:
    assert input_location("a/b") == Path("a/b")
    assert output_location("file:///a") == Path("/a")
    assert input_location("s3://a/b") == Elsewhere("s3://a/b", is_output=False)
    assert shown(Path("a")) == "a"


def test_a_corpus_an_index_and_a_run_never_touch_this_machine(
    remote: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    papers = [
        {"id": f"p{i}", "title": f"Parsing number {i}", "citations": [f"p{i - 1}"]} for i in range(1, 20)
    ]
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "title": "parsing"}\n')
    corpus, index, run = f"{remote}/corpus", f"{remote}/index", f"{remote}/runs/run.trec"
    code, out, err = call(capsys, "corpus", "import", tmp_path / "records.jsonl", "--to", corpus, "--json")
    assert code == 0, err
    assert json.loads(out)["to"] == corpus
    assert json.loads(out)["rejects"] == f"{remote}/corpus.rejects.jsonl"  # p0 is not in the corpus
    again = call(capsys, "corpus", "import", tmp_path / "records.jsonl", "--to", corpus)
    assert (again[0], f"{corpus}: already exists" in again[2]) == (2, True)
    code, out, err = call(capsys, "index", "build", corpus, "--to", index, "--json")
    assert (code, json.loads(out)["index"]) == (0, index), err
    line = [
        "rank",
        "--queries",
        tmp_path / "queries.jsonl",
        "--index",
        index,
        "--to",
        run,
        "--pipeline",
        "bm25",
    ]
    code, _, err = call(capsys, *line, "--k", 3)
    assert code == 0, err
    assert "3 lines in" in err
    assert err.rstrip().endswith(f"-> {run}")
    missing = call(capsys, "index", "build", f"{remote}/none", "--to", index)
    assert (missing[0], missing[2]) == (2, f"cocite: {remote}/none: nothing is there\n")


@pytest.fixture(params=["s3", "gs"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ObjectStore:
    """A bucket on a server that only its URIs name."""
    found: ObjectStore = request.getfixturevalue(request.param)
    for name in found.environment:
        monkeypatch.delenv(name, raising=False)
    for name, value in found.credentials.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COCITE_CACHE", str(tmp_path / "cache"))
    return found


def test_uris_name_the_server_of_the_steps_from_records_to_rankings(
    store: ObjectStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    papers = [
        {"id": f"p{i}", "title": f"Parsing number {i}", "citations": [f"p{i - 1}"] if i else []}
        for i in range(20)
    ]
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "title": "parsing"}\n')
    names = ("corpus", "vectors", "index", "run.trec")
    corpus, vectors, index, run = (store.uri(f"steps/{name}") for name in names)

    def run_line(*words: object) -> str:
        code, out, err = call(capsys, *words)
        assert code == 0, err
        return out

    run_line("corpus", "import", tmp_path / "records.jsonl", "--to", corpus)
    model = untrained_encoders(Corpus.open(fetch_local(corpus)), tmp_path / "model")
    run_line("embed", corpus, "--model", model, "--to", vectors)
    assert "all were made before" in run_line("embed", corpus, "--model", model, "--to", vectors)
    made = verify(fetch_local(store.uri("steps/vectors/nnselect")))
    assert made.meta["rows"] == 20
    run_line("index", "build", corpus, "--to", index, "--model", model, "--vectors-from", vectors)
    line = ("rank", "--queries", tmp_path / "queries.jsonl", "--index", index, "--model", model, "--to", run)
    run_line(*line, "--pipeline", "nnselect")
    content = Location.of(store.uri("steps")).read("run.trec")
    assert content is not None
    assert content.count(b"\n") == 20
