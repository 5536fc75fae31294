"""The studies that sweeps can name do what the driver expects of a study."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from cocite_tuning.studies.study import Study
from cocite_tuning.sweep.study_kinds import STUDY_KINDS, open_study

KINDS = [kind for kind in STUDY_KINDS if kind != "toy"]


def study_of(kind: str, tmp_path: Path) -> Study:
    required = {"training": {"recipe": "nnselect"}, "neighbours": {"model": None}}
    settings = STUDY_KINDS[kind].settings_class().parse(required.get(kind, {}))
    study: Study = open_study(settings, tmp_path / "corpus", tmp_path / "shared")
    return study


@pytest.mark.parametrize("kind", KINDS)
def test_each_has_the_members_of_the_protocol(kind: str, tmp_path: Path) -> None:
    study = study_of(kind, tmp_path)
    assert study.parameter_types
    for annotation in study.parameter_types.values():
        TypeAdapter(annotation)  # raises where the annotation is none
    assert list(inspect.signature(study.run).parameters) == ["params", "report", "folder"]
    assert list(inspect.signature(study.prepare).parameters) == ["wait"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_can_be_sent_to_another_process(kind: str, tmp_path: Path) -> None:
    study = study_of(kind, tmp_path)
    there = pickle.loads(pickle.dumps(study))  # noqa: S301  (as Ray sends it)
    assert there.settings == study.settings  # type: ignore[attr-defined]
    assert there.parameter_types.keys() == study.parameter_types.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_only_trials_that_train_get_a_process_of_their_own(kind: str, tmp_path: Path) -> None:
    assert study_of(kind, tmp_path).in_process == (kind not in ("training", "trees"))
