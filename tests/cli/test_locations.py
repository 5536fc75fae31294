"""Commands whose inputs and outputs lie elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command_line import call

from cocite.cli.locations import Elsewhere, input_location, output_location, shown


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
