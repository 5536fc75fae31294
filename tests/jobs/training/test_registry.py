from __future__ import annotations

import inspect

import pytest

from cocite.config import Settings
from cocite.training.engine.settings import TrainingSettings, WorkerSettings
from cocite_jobs.training.registry import KINDS, RecipeKind, load_object


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_names_classes_and_functions_that_exist(kind: str) -> None:
    row = KINDS[kind]
    cls = row.recipe_class()
    assert issubclass(cls, Settings)
    assert cls.model_fields["kind"].default == kind
    if row.task is not None:
        assert len(inspect.signature(load_object(row.task)).parameters) == 3
        for section, base in (("training", TrainingSettings), ("workers", WorkerSettings)):
            assert issubclass(cls.model_fields[section].annotation, base)  # type: ignore[arg-type]
    if row.trainer is not None:
        parameters = inspect.signature(load_object(row.trainer)).parameters
        assert list(parameters) == ["recipe", "corpus", "to", "progress", *["place"][: row.searches]]
    for number, needed in enumerate(row.inputs):
        assert needed.section in cls.model_fields or isinstance(getattr(cls, needed.section), property)
        assert {"stage", "advance"} <= inspect.signature(load_object(needed.maker)).parameters.keys()
        assert set(needed.made_of) <= {earlier.artifact for earlier in row.inputs[:number]}
    if row.after is not None:
        assert len(inspect.signature(load_object(row.after)).parameters) == 5
        assert row.uses_engine


def test_a_kind_has_either_a_task_or_a_trainer() -> None:
    for functions in ({}, {"task": "a:b", "trainer": "a:c"}):
        with pytest.raises(ValueError, match="a kind has either a task or a trainer"):
            RecipeKind("module:Recipe", **functions)  # type: ignore[arg-type]
    assert RecipeKind("module:Recipe", task="a:b").uses_engine
    assert not RecipeKind("module:Recipe", trainer="a:b").uses_engine


def test_an_object_that_does_not_exist_is_a_defect() -> None:
    assert load_object("os.path:join")("a", "b") == "a/b"
    with pytest.raises(AttributeError, match="no_such_function"):
        load_object("os.path:no_such_function")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        load_object("no_such_module:join")
