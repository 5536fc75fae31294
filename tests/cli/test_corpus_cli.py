from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cocite.cli import main
from cocite.corpus.store import Corpus

LINES = [
    {"id": "a", "title": "First", "year": 2000},
    {"id": "b", "title": "Second", "year": 2001, "citations": ["a", "zz"]},
    {"id": "b", "title": "Again"},
    {
        "id": "c",
        "title": "Third",
        "year": 2002,
        "contexts": [{"cited": ["a", "b"], "context": "as [CIT] say"}],
    },
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "papers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


def run(capsys: pytest.CaptureFixture[str], *args: object, code: int = 0) -> tuple[str, str]:
    try:
        main([*map(str, args)])
        found = 0
    except SystemExit as stop:
        found = int(stop.code or 0)
    streams = capsys.readouterr()
    assert found == code, streams.err
    return streams.out, streams.err


def data(capsys: pytest.CaptureFixture[str], *args: object) -> Any:
    return json.loads(run(capsys, *args, "--json")[0])


def test_import_stats_show_verify(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "out" / "store"
    facts = data(capsys, "corpus", "import", source, "--to", store, "--split-years", "2000,2001")
    assert (facts["papers"], facts["citations"], facts["contexts"]) == (3, 1, 1)
    assert facts["rules"]["duplicate_id"] == facts["rules"]["unknown_citation"] == 1
    entries = [json.loads(line) for line in Path(facts["rejects"]).read_text().splitlines()]
    assert {(e["rule"], e["file"], e["line"]) for e in entries} == {
        ("duplicate_id", "papers.jsonl", 3),
        ("unknown_citation", "papers.jsonl", 2),
    }
    stats = data(capsys, "corpus", "stats", store)
    assert stats["splits"] == {"none": 0, "train": 1, "dev": 1, "test": 1}
    assert stats["by_split"] == {
        "links": {"none": 0, "train": 0, "dev": 1, "test": 0},
        "contexts": {"none": 0, "train": 0, "dev": 0, "test": 1},
    }
    assert stats["years"] == {"2000": 1, "2001": 1, "2002": 1}
    assert (stats["source"], stats["format"]) == ("papers.jsonl", "jsonl")
    out, _ = run(capsys, "corpus", "stats", store)
    assert "duplicate_id" in out
    assert [line.split() for line in out.splitlines() if line.startswith("│ test")] == [
        ["│", "test", "│", "1", "│", "0", "│", "1", "│"]
    ]
    assert "2001" in out
    shown = data(capsys, "corpus", "show", store, "a")
    assert shown["cited_by"] == {"total": 1, "papers": [["b", "Second"]]}
    assert shown["contexts"] == [{"citing": "c", "text": "as TARGETCIT say"}]
    assert "Second" in run(capsys, "corpus", "show", store, "a")[0]
    assert data(capsys, "corpus", "verify", store)["ok"] is True
    assert "undamaged" in run(capsys, "corpus", "verify", store)[0]


def test_mistakes_are_told_in_a_sentence(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    _, err = run(capsys, "corpus", "import", source, "--to", store, "--strict", code=2)
    assert err.startswith("cocite: papers.jsonl:3: id: an earlier paper has this id")
    assert not store.exists()
    _, err = run(capsys, "corpus", "import", tmp_path / "none", "--to", store, code=2)
    assert "no such file or folder" in err
    _, err = run(capsys, "corpus", "import", source, "--to", store, "--format", "jsnl", code=2)
    assert "did you mean 'jsonl'?" in err
    _, err = run(capsys, "corpus", "import", source, "--to", store, "--split-years", "x", code=2)
    assert "2009,2010" in err
    run(capsys, "corpus", "import", source, "--to", store)
    _, err = run(capsys, "corpus", "import", source, "--to", store, code=2)
    assert "already exists" in err
    run(capsys, "corpus", "import", source, "--to", store, "--replace")
    assert "no paper has the id 'q'" in run(capsys, "corpus", "show", store, "q", code=2)[1]
    path = store / "cites.indices.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert "cites.indices.npy: damaged" in run(capsys, "corpus", "verify", store, code=3)[1]


def test_synth_split_and_starter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    first = data(capsys, "corpus", "synth", "--papers", 120, "--seed", 3, "--to", one)
    again = data(capsys, "corpus", "synth", "--papers", 120, "--seed", 3, "--to", two)
    assert first["papers"] == 120
    assert first["version"] == again["version"]
    split = data(capsys, "corpus", "split", one, "--to", tmp_path / "r", "--random", "0.25,0.25", "--seed", 1)
    assert split["splits"] == {"none": 0, "train": 60, "dev": 30, "test": 30}
    clean = data(
        capsys, "corpus", "split", one, "--to", tmp_path / "y", "--years", "2000,2010", "--without", two
    )
    assert clean["leaks_removed"] > 0
    assert clean["splits"]["train"] == 0
    _, err = run(capsys, "corpus", "split", one, "--to", two, "--years", "1,2", "--random", "0,0", code=2)
    assert "not both" in err
    assert data(capsys, "corpus", "starter", "--to", tmp_path / "s")["papers"] == len(
        Corpus.open(tmp_path / "s")
    )
