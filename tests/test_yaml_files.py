from __future__ import annotations

from pathlib import Path

import pytest

from cocite.errors import ConfigError, NotFoundError
from cocite.yaml_files import key_line, parse_yaml, read_yaml


def recipe(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [1, 2\n", r"recipe\.yaml:\d+: not valid YAML"),
        ("- 1\n- 2\n", "must hold keys and values"),
        ("a: 1\nb: 2\na: 3\n", r"recipe\.yaml:3: .*'a' is given twice"),
        ("a: !!python/object/apply:os.getcwd []\n", r"recipe\.yaml:1: .*could not determine a constructor"),
    ],
)
def test_a_file_that_is_not_plain_keys_and_values_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_yaml(recipe(tmp_path, text))


def test_a_missing_file_a_folder_and_binary_data_have_errors_of_their_own(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="is not a text file"):
        read_yaml(tmp_path)
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not a text file"):
        read_yaml(tmp_path / "x.yaml")


def test_anchors_and_merges_are_read(tmp_path: Path) -> None:
    text = "base: &base {random: 1}\none:\n  <<: *base\n  nearest: 2\n"
    assert read_yaml(recipe(tmp_path, text))["one"] == {"random": 1, "nearest": 2}


def test_aliases_that_multiply_are_refused_before_they_fill_the_memory(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(ConfigError, match="nested too deep, or an alias repeats too much"):
        read_yaml(recipe(tmp_path, "\n".join(lines)))


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), ("", None), ("[1, x]", [1, "x"]), ("{a: 1e-3}", {"a": "1e-3"})]
)
def test_a_text_is_a_plain_value(text: str, value: object) -> None:
    assert parse_yaml(text) == value


@pytest.mark.parametrize("text", ["[1, 2", "a: b: c", "!!python/name:os.system", "&a [*a]"])
def test_a_text_that_is_no_plain_value_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        parse_yaml(text)
    assert type(caught.value) is ValueError


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (["loop", "rate"], ":3"),
        (["loop"], ":1"),
        (["loop", "none"], ":1"),
        (["list", "1", "x"], ":6"),
        (["none"], ""),
    ],
)
def test_the_line_of_a_key_or_of_the_nearest_one_above_it(tmp_path: Path, keys: list[str], line: str) -> None:
    path = recipe(tmp_path, "loop:\n  epochs: 3\n  rate: 0.1\nlist:\n  - x: 1\n  - x: 2\n")
    assert key_line(path, keys) == line
    assert key_line(tmp_path / "none.yaml", keys) == ""
