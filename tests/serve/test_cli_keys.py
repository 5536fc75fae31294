from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command_line import call

from cocite_serve.key_file import digest, read_keys


def test_a_new_key_is_printed_once_and_its_hash_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "keys"
    line = ("keys", "new", "web", "--file", str(path), "--per-minute", "30", "--per-day", "1000")
    code, out, err = call(capsys, *line)
    assert code == 0
    key = out.strip()
    assert key not in err + path.read_text()
    [kept] = read_keys(path)
    assert (kept.name, kept.role, kept.sha256, kept.per_minute, kept.per_day) == (
        "web",
        "reader",
        digest(key),
        30,
        1000,
    )
    admin = ("keys", "new", "ops", "--role", "admin", "--file", path, "--json")
    code, out, _ = call(capsys, *admin)
    assert code == 0
    document = json.loads(out)
    assert document == {"name": "ops", "role": "admin", "key": document["key"], "file": str(path)}
    assert read_keys(path)[1].sha256 == digest(document["key"])


def test_a_second_key_of_a_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ("keys", "new", "web", "--file", tmp_path / "keys")
    assert call(capsys, *line)[0] == 0
    code, _, err = call(capsys, *line)
    assert code == 2
    assert "there is a key of the name 'web'" in err
