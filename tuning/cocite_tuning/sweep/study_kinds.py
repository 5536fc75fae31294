"""The kinds of studies that a sweep file can name, each by the dotted names of its settings and of its study.

Dotted names keep the sweep file independent of every study, and a study's module is imported only when a sweep runs
it: sweeps are read and listed without torch or LightGBM.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.config import Settings
from cocite_jobs.training.registry import load_object


@dataclass(frozen=True)
class StudyKind:
    """The places where the two classes of a kind of study are defined.

    Attributes:
        settings: ``module:Class`` of its settings, whose field ``kind`` holds the name of the kind.
        study: ``module:Class`` of the study, which is called with settings, corpus and shared folder.

    Example:
        >>> STUDY_KINDS["bm25"].settings
        'cocite_tuning.studies.bm25_settings:Bm25StudySettings'
        >>> STUDY_KINDS["bm25"].settings_class()(queries=50).fields
        ('text', 'title')
    """

    settings: str
    study: str

    def settings_class(self) -> type[Settings]:
        """Import the settings class of this kind."""
        settings_class: type[Settings] = load_object(self.settings)
        return settings_class


_STUDIES = "cocite_tuning.studies"
STUDY_KINDS: dict[str, StudyKind] = {
    "training": StudyKind(
        f"{_STUDIES}.training_settings:TrainingStudySettings", f"{_STUDIES}.training:TrainingStudy"
    ),
    "depths": StudyKind(f"{_STUDIES}.depths_settings:DepthsStudySettings", f"{_STUDIES}.depths:DepthsStudy"),
    "neighbours": StudyKind(
        f"{_STUDIES}.neighbours_settings:NeighboursStudySettings", f"{_STUDIES}.neighbours:NeighboursStudy"
    ),
    "fusion": StudyKind(f"{_STUDIES}.blend_settings:FusionStudySettings", f"{_STUDIES}.blend:BlendStudy"),
    "bm25": StudyKind(f"{_STUDIES}.bm25_settings:Bm25StudySettings", f"{_STUDIES}.bm25:Bm25Study"),
    "trees": StudyKind(f"{_STUDIES}.trees_settings:TreesStudySettings", f"{_STUDIES}.trees:TreesStudy"),
}
"""Kind of a study -> its classes; a test or an extension may enter further kinds."""


def open_study(settings: Settings, corpus: Path, shared: Path) -> Any:
    """Import and build the study that some settings describe.

    Args:
        settings: of one of the kinds; its field ``kind`` names which.
        corpus: the corpus store's folder.
        shared: a folder for what all trials share. Sweeps may have it in common: each choice of corpus, model and
            settings has a subfolder of its own.

    Returns:
        A :class:`~cocite_tuning.studies.study.Study`.

    Example:
        >>> settings = STUDY_KINDS["bm25"].settings_class()(queries=50)
        >>> study = open_study(settings, Path("corpus"), Path("shared"))
        >>> type(study).__name__, sorted(study.parameter_types)
        ('Bm25Study', ['b', 'field', 'form', 'k1'])
    """
    kind = str(settings.kind)  # type: ignore[attr-defined]
    return load_object(STUDY_KINDS[kind].study)(settings, corpus, shared)
