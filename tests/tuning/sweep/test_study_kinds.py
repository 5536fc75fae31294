"""The registry of studies names classes that exist and fit each other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cocite.config import Settings
from cocite_jobs.training.registry import load_object
from cocite_tuning.sweep.study_kinds import STUDY_KINDS, open_study

KINDS = [kind for kind in STUDY_KINDS if kind != "toy"]
REQUIRED = {"training": {"recipe": "nnselect"}}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_names_its_settings_and_its_study(kind: str, tmp_path: Path) -> None:
    settings_class = STUDY_KINDS[kind].settings_class()
    assert issubclass(settings_class, Settings)
    assert settings_class.model_fields["kind"].default == kind
    settings = settings_class.parse(REQUIRED.get(kind, {}))
    study = open_study(settings, tmp_path / "corpus", tmp_path / "shared")
    assert type(study) is load_object(STUDY_KINDS[kind].study)
    assert study.settings == settings
    assert isinstance(study.in_process, bool)


def test_opening_a_study_touches_no_file(tmp_path: Path) -> None:
    open_study(STUDY_KINDS["bm25"].settings_class()(), tmp_path / "corpus", tmp_path / "shared")
    assert not list(tmp_path.iterdir())


def test_settings_are_read_without_the_studies() -> None:
    code = (
        "import sys; from cocite_tuning.sweep.study_kinds import STUDY_KINDS;"
        "[kind.settings_class() for kind in STUDY_KINDS.values()];"
        "modules = [kind.study.partition(':')[0] for kind in STUDY_KINDS.values()];"
        "assert not {'torch', 'scipy', 'lightgbm', *modules} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
