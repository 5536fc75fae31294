from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import NotFoundError
from cocite.shipped_files import shipped_file, shipped_names


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    folder = tmp_path / "shipped"
    folder.mkdir()
    for name in ("small.yaml", "large.yaml", "notes.txt"):
        (folder / name).touch()
    return folder


def test_names_are_those_of_the_yaml_files(shipped: Path) -> None:
    assert shipped_names(shipped) == ["large", "small"]
    assert shipped_names(shipped / "none") == []


def test_a_name_means_the_shipped_file_and_a_path_the_users_own(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("small", "small.yaml", "ours"):
        Path(name).touch()
    assert shipped_file("small", shipped, what="recipe") == shipped / "small.yaml"
    assert shipped_file("./small.yaml", shipped, what="recipe") == Path("small.yaml")
    assert shipped_file("small.yaml", shipped, what="recipe") == Path("small.yaml")
    assert shipped_file("ours", shipped, what="recipe") == Path("ours")  # a file without a suffix


def test_a_file_that_does_not_exist_is_named_with_the_nearest(shipped: Path) -> None:
    with pytest.raises(NotFoundError, match=r"^SWEEP: no sweep 'smal' \(did you mean 'small'\?\)$"):
        shipped_file("smal", shipped, what="sweep")
    with pytest.raises(NotFoundError, match=r"^RECIPE: no recipe 'small.yml'"):
        shipped_file("small.yml", shipped, what="recipe")
    with pytest.raises(NotFoundError, match=r"^RECIPE: no recipe '' \(known: large, small\)$"):
        shipped_file("", shipped, what="recipe")


@given(st.text("ab./", max_size=6))
def test_every_answer_is_a_file(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "a.yaml").touch()
    try:
        assert shipped_file(name, folder, what="recipe").is_file()
    except NotFoundError as error:
        assert f"no recipe {name!r}" in str(error)  # noqa: PT017
