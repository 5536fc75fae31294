from __future__ import annotations

from pathlib import Path

import pytest

from cocite.errors import NotFoundError
from cocite.shipped_files import shipped_file, shipped_names


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A package's folder with two files."""
    folder = tmp_path / "recipes"
    folder.mkdir()
    for name in ("small.yaml", "large.yaml", "README.md"):
        (folder / name).touch()
    return folder


def test_names_are_those_of_the_yaml_files(folder: Path) -> None:
    assert shipped_names(folder) == ["large", "small"]


def test_a_name_means_the_shipped_file_whatever_the_working_directory_has(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small").touch()
    (tmp_path / "mine").touch()
    (tmp_path / "small.yaml").touch()
    assert shipped_file("small", folder, what="recipe") == folder / "small.yaml"
    assert shipped_file("small.yaml", folder, what="recipe") == Path("small.yaml")
    assert shipped_file("mine", folder, what="recipe") == Path("mine")
    assert shipped_file(str(folder / "large.yaml"), folder, what="recipe") == folder / "large.yaml"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("smal", r"^SWEEP: no sweep 'smal' \(did you mean 'small'\?\)$"),
        ("zzz.yaml", r"^SWEEP: no sweep 'zzz.yaml' \(known: large, small\)$"),
        (".", r"^SWEEP: no sweep '\.'"),
    ],
)
def test_a_file_that_is_not_there_names_those_that_are(folder: Path, name: str, message: str) -> None:
    with pytest.raises(NotFoundError, match=message):
        shipped_file(name, folder, what="sweep")
