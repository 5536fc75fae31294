"""The names of loaded releases."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cocite.errors import InputError
from cocite_mlflow.references import ModelVersion
from cocite_serve.http.release_names import find_release, loaded_names

CHAMPION: Any = SimpleNamespace(
    model_version="5f0c", index_version="000001", registered=ModelVersion("ranker", 3, "champion")
)
CHALLENGER: Any = SimpleNamespace(
    model_version="7a1d", index_version="000001", registered=ModelVersion("ranker", 4, "challenger")
)
NEWER_INDEX: Any = SimpleNamespace(
    model_version="5f0c", index_version="000002", registered=CHAMPION.registered
)
FOLDER: Any = SimpleNamespace(model_version="", index_version="000001", registered=None)


@pytest.mark.parametrize(
    ("name", "release"),
    [
        (None, None),
        ("served", "served"),
        ("champion", "served"),
        ("3", "served"),
        ("ranker/3", "served"),
        ("models:/ranker@champion", "served"),
        ("5f0c", "served"),
        ("beside", "beside"),
        ("challenger", "beside"),
        ("models:/ranker/4", "beside"),
        ("7a1d", "beside"),
    ],
)
def test_a_release_is_named_by_its_place_alias_or_version(name: str | None, release: str | None) -> None:
    assert find_release(name, CHAMPION, CHALLENGER) == release


def test_a_name_of_both_is_refused_and_not_told() -> None:
    for name in ("champion", "3", "5f0c"):
        with pytest.raises(
            InputError, match=f"^release: '{name}' names both releases: say 'served' or 'beside'$"
        ):
            find_release(name, CHAMPION, NEWER_INDEX)
    assert find_release("000002", CHAMPION, NEWER_INDEX) == "beside"
    assert loaded_names(CHAMPION, NEWER_INDEX) == ["served", "beside"]


@pytest.mark.parametrize(
    ("releases", "names"),
    [
        ((FOLDER,), "the only name is 'served'"),
        ((FOLDER, FOLDER), "the names are 'served' and 'beside'"),
        ((CHAMPION,), "the names are 'served', 'champion', '3', 'ranker@champion' and 'ranker/3'"),
    ],
)
def test_another_name_is_refused_with_those_that_there_are(releases: Any, names: str) -> None:
    for name in ("other", "", "models:/", "ranker/9"):
        with pytest.raises(InputError, match=f"^release: no release '{name}' is loaded; {names}$"):
            find_release(name, *releases)
