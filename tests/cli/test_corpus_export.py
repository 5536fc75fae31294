"""``cocite corpus export``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora


def test_options_reach_the_files(
    synthetic: SyntheticCorpora, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = synthetic(400, seed=5, split=(2, 1)).path
    line = ("corpus", "export", corpus, "--to", tmp_path / "out")
    options = ("--task", "global", "--split", "dev, test", "--sample", 3, "--seed", 1)
    code, out, err = call(capsys, *line, "--format", "tsv", "--gzip", "--form", "title", *options, "--json")
    assert code == 0, err
    values = json.loads(out)
    assert values["queries"] == {"dev": 3, "test": 3}
    assert values["documents"] == 400
    files = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*")}
    tables = {"documents.tsv.gz", "queries.tsv.gz", "own-papers.tsv.gz"}
    assert files == {*tables, "qrels/dev.qrels", "qrels/test.qrels", "manifest.json"}
    assert call(capsys, *line)[0] == 2
    code, out, err = call(capsys, *line, "--replace")
    assert code == 0, err
    assert "queries (test)" in out
    assert (tmp_path / "out" / "corpus.jsonl").is_file()
    assert not (tmp_path / "out" / "documents.tsv.gz").exists()
