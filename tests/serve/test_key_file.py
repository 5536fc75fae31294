from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path

import pytest

from cocite.errors import InputError
from cocite_serve.key_file import (
    MOST_BYTES,
    VARIABLE,
    asks_for_keys,
    digest,
    keys_in_force,
    new_key,
    parse_keys,
    read_keys,
)
from cocite_serve.settings import KeySettings

HASH = "0" * 64


def test_a_file_has_hashes_and_never_a_key(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    made = [
        new_key(path, "web", per_minute=60),
        new_key(path, "ops", "admin"),
        new_key(path, "batch", per_day=9),
    ]
    assert len({*made}) == 3
    text = path.read_text()
    assert not any(key in text or key.removeprefix("cocite_") in text for key in made)
    keys = read_keys(path)
    assert [(key.name, key.role, key.per_minute, key.per_day) for key in keys] == [
        ("web", "reader", 60, None),
        ("ops", "admin", None, None),
        ("batch", "reader", None, 9),
    ]
    assert [key.sha256 for key in keys] == [hashlib.sha256(key.encode()).hexdigest() for key in made]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["keys"], "nothing is left beside it"


def test_a_name_is_taken_once_and_the_file_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    new_key(path, "web")
    before = path.read_bytes()
    with pytest.raises(InputError, match="there is a key of the name 'web'"):
        new_key(path, "web")
    with pytest.raises(InputError, match="per_minute"):
        new_key(path, "other", per_minute=-1)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "keys:2: this line is not JSON"),
        ("3", "keys:2: this line is no JSON object"),
        (json.dumps({"name": "x"}), "keys:2: the key 'sha256' is missing"),
        (json.dumps({"name": "x", "sha256": "abc"}), "keys:2: sha256"),
        (json.dumps({"name": "x", "sha256": HASH, "role": "root"}), "keys:2: role"),
        (json.dumps({"name": "x", "sha256": HASH, "rate": 3}), "keys:2: unknown key 'rate'"),
        (json.dumps({"name": "a", "sha256": HASH}), "keys:2: there is another key of the name 'a'"),
    ],
)
def test_a_line_that_is_no_key_is_named(line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_keys(json.dumps({"name": "a", "sha256": HASH}) + "\n" + line, "keys")


def test_a_file_that_is_none_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the API keys cannot be read: No such file"):
        read_keys(tmp_path / "missing")
    (tmp_path / "large").write_bytes(b" " * (MOST_BYTES + 1))
    with pytest.raises(InputError, match="at most"):
        read_keys(tmp_path / "large")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_keys(tmp_path / "binary")


def test_the_environment_has_keys_where_there_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "keys"
    key = new_key(path, "web")
    monkeypatch.delenv(VARIABLE, raising=False)
    assert not asks_for_keys(KeySettings())
    assert keys_in_force(KeySettings()) == []
    monkeypatch.setenv(VARIABLE, path.read_text())
    assert asks_for_keys(KeySettings())
    assert [each.sha256 for each in keys_in_force(KeySettings())] == [digest(key)]
    path.write_text("")
    assert asks_for_keys(KeySettings(file=path)), "a file without keys lets nobody in"
    assert keys_in_force(KeySettings(file=path)) == []
