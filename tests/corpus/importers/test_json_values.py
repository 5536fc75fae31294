from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.importers import json_values, open_source
from cocite.corpus.importers.files import InputFile
from cocite.corpus.records import Malformed, PaperRecord
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError


def test_bytes_that_are_not_utf8_are_repaired_and_counted(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'{"id": "a", "title": "caf\xe9 au lait"}\n')
    corpus = build(open_source(tmp_path / "x.jsonl"), tmp_path / "store")
    assert corpus.paper(0).title == "caf au lait"
    assert corpus.counts["rules"]["broken_unicode"] == 1


OBJECTS = st.dictionaries(
    st.sampled_from(["id", "title", "x\n"]),
    st.text(max_size=8) | st.lists(st.floats(), max_size=3),
    max_size=3,
)


@given(
    st.lists(OBJECTS, min_size=1, max_size=8),
    st.sampled_from([None, 0, 3]),
    st.booleans(),
    st.integers(4, 64),
)
def test_an_array_is_its_elements(
    tmp_path: Path, values: list[Any], indent: int | None, ascii_only: bool, chunk: int
) -> None:
    """However it is written, and wherever a piece that is read ends."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps(values, indent=indent, ensure_ascii=ascii_only), encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch, InputFile(path) as stream:
        patch.setattr(json_values, "CHUNK", chunk)
        found = list(json_values.json_values(stream, SourcePosition()))
    assert json.dumps(found) == json.dumps(values)


def test_lines_of_an_array_are_those_of_its_elements(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(
        '[\n {"id": "a",\n  "title": "A"},\n\n 7, {"id": "b", "title": ["B"]}\n]\n'
    )
    source = open_source(tmp_path / "x.json")
    found = [(type(record), source.position.line) for record in source]
    assert found == [(PaperRecord, 2), (Malformed, 5), (Malformed, 5)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"id": "a", "title": "A"},\n{"id": "b", "title"', r"x\.json:2: not valid JSON"),
        ('[{"id": "a", "title": "A"},\n{"id": b}]', r"x\.json:2: not valid JSON: Expecting value"),
        ('[{"id": "a", "title": "A"}', "the JSON array has no end"),
        ('[{"id": "a", "title": "A"}, ' + "[" * 100_000, "not valid JSON"),
    ],
)
def test_a_broken_array_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=reason):
        build(open_source(tmp_path / "x.json", "jsonl"), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_an_array_takes_the_memory_of_a_piece(tmp_path: Path) -> None:
    """A limit on memory that the file's values together would break; run apart, since a limit holds to the end."""
    path = tmp_path / "x.json"
    with path.open("w") as file:
        file.write("[")
        for i in range(20_000):
            file.write(
                ("," if i else "") + json.dumps({"id": str(i), "title": "T", "abstract": "word " * 1000})
            )
        file.write("]")
    code = (
        "import sys, resource\n"
        "from pathlib import Path\n"
        "from cocite.corpus.importers import open_source\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "count = sum(1 for _ in open_source(Path(sys.argv[1])))\n"
        "print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    count, kibibytes = map(int, done.stdout.split())
    assert count == 20_000
    assert path.stat().st_size > 95 << 20
    assert kibibytes < 32 << 10
