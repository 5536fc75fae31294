"""The settings of the study of BM25."""

from __future__ import annotations

import pytest

from cocite.errors import ConfigError
from cocite.retrieval.query_forms import QueryForm
from cocite_tuning.studies.bm25_settings import Bm25StudySettings


def test_forms_and_fields_are_read_by_name() -> None:
    settings = Bm25StudySettings.parse({"forms": ["context", "context+title"], "fields": ["abstract"]})
    assert settings.forms == (QueryForm.CONTEXT, QueryForm.CONTEXT_TITLE)
    assert settings.fields == ("abstract",)


@pytest.mark.parametrize(
    "wrong",
    [{"forms": ["keywords only"]}, {"fields": ["venue"]}, {"fields": []}, {"pool": 9}, {"kind": "trees"}],
)
def test_what_bm25_does_not_have_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Bm25StudySettings.parse(wrong)


def test_its_metrics_look_no_deeper_than_its_pool() -> None:
    settings = Bm25StudySettings()
    depths = [int(name.partition("@")[2]) for name in settings.metric_names if "@" in name]
    assert max(depths) <= settings.pool
