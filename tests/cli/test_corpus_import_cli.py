"""What ``cocite corpus import`` and ``cocite index add`` say of what they do not keep."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import call

from cocite.corpus.store import Corpus

NOTHING_LOST = "no rule was hit: every record and link is in the store"


def write(path: Path, *values: dict[str, Any] | str) -> Path:
    path.write_text("".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values))
    return path


def test_that_nothing_was_lost_is_said_only_when_it_is_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    whole = write(tmp_path / "a.jsonl", {"id": "a", "title": "A"})
    code, out, _ = call(capsys, "corpus", "import", whole, "--to", store)
    assert (code, NOTHING_LOST in out) == (0, True)
    partly = write(tmp_path / "b.jsonl", {"id": "a", "title": "A", "references": ["a"], "keywords": ["k"]})
    code, out, _ = call(capsys, "corpus", "import", partly, "--to", store, "--replace")
    assert (code, NOTHING_LOST in out) == (0, False)
    for shown in (
        "unknown_field",
        "references",
        "citations",
        "keyphrases",
        "b.jsonl:1",
        "store.rejects.jsonl",
    ):
        assert shown in out
    code, out, _ = call(capsys, "corpus", "stats", store)
    assert (code, NOTHING_LOST in out, "keyphrases" in out) == (0, False, True)


def test_unknown_fields_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "x.jsonl", *({"id": str(i), "title": "T", "refs": []} for i in range(3)))
    code, out, _ = call(capsys, "corpus", "import", source, "--to", tmp_path / "store", "--json")
    entry = {"field": "refs", "record": "paper", "count": 3, "first": "x.jsonl:1", "suggestion": "citations"}
    assert (code, json.loads(out)["unknown_fields"]) == (0, [entry])
    assert json.loads(out)["rules"]["unknown_field"] == 3
    assert json.loads(call(capsys, "corpus", "stats", tmp_path / "store", "--json")[1])["unknown_fields"] == [
        entry
    ]


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (
            ['{"id": "a", "title": "A", "refs": []}'],
            ["--strict"],
            "did you mean 'citations'? (rule unknown_field",
        ),
        (
            ['{"id": "a", "name": "A"}'],
            ["--format", "jsonl"],
            "no paper can be kept: 1 rejected, 1 by the rule empty",
        ),
        (["{", "x"], ["--format", "jsonl"], "not valid JSON"),
        ([], [], "this is an empty file"),
        ([], ["--format", "jsonl"], "no paper can be kept: it holds none"),
        (["id,title", "1,A"], [], "this is a CSV file with the columns id, title"),
        (['{"id": "a", "title": "A"}'], ["--format", "openalex"], "the records are those of jsonl"),
    ],
)
def test_a_source_that_cannot_be_kept_leaves_no_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: list[str], options: list[str], message: str
) -> None:
    store = tmp_path / "out" / "store"
    source = write(tmp_path / "x.jsonl", *lines)
    code, out, err = call(capsys, "corpus", "import", source, "--to", store, *options)
    assert (code, out) == (2, "")
    assert err.startswith("cocite: ")
    assert err.count("\n") == 1
    assert message in err
    assert str(source.name) in err
    left = {path.name for path in store.parent.iterdir()} if store.parent.exists() else set()
    assert left <= {"store.rejects.jsonl"}
    assert ("rejected" in message or "--strict" in options) == bool(left)


def test_a_failed_import_leaves_the_store_that_was_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    call(capsys, "corpus", "import", write(tmp_path / "a.jsonl", {"id": "a", "title": "A"}), "--to", store)
    cut = tmp_path / "b.jsonl.xz"
    cut.write_bytes(lzma.compress(b'{"id": "b", "title": "B"}\n' * 100)[:-8])
    code, _, err = call(capsys, "corpus", "import", cut, "--to", store, "--replace")
    assert (code, "b.jsonl.xz: the xz file is damaged or cut short" in err) == (2, True)
    assert Corpus.open(store).ids([0]) == ["a"]


def test_adding_to_an_index_names_unknown_fields_and_refuses_nothing_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, index = tmp_path / "store", tmp_path / "index"
    first = write(tmp_path / "a.jsonl", {"id": "a", "title": "A quokka"})
    call(capsys, "corpus", "import", first, "--to", store)
    call(capsys, "index", "build", store, "--to", index)
    code, _, err = call(capsys, "index", "add", index, first)
    assert code == 2
    assert "a.jsonl: no new paper can be kept: 1 rejected, 1 by the rule duplicate_id" in err
    new = write(tmp_path / "b.jsonl", {"id": "b", "title": "A parser", "references": ["a"]})
    code, out, _ = call(capsys, "index", "add", index, new)
    assert (code, "unknown field 'references' of a paper (1); did you mean 'citations'?" in out) == (
        0,
        True,
    )
    versions = json.loads(call(capsys, "index", "list", index, "--json")[1])
    assert [entry["papers"] for entry in versions] == [1, 2]
