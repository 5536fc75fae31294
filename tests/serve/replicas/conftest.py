"""The stages of two releases, one for each snapshot of an index, as Ray Serve hands them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.stage_handles import Handle
from ray import serve

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.release import Release
from cocite_serve.replicas.stages import Reranker, Retriever


@pytest.fixture(scope="package")
def two_snapshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index folder with two snapshots."""
    folder = tmp_path_factory.mktemp("two-snapshots")
    corpus = build_starter(folder / "corpus")
    IndexSnapshot.create(corpus, folder / "index")
    IndexSnapshot.remove(folder / "index", corpus.ids([0]))
    return folder / "index"


@pytest.fixture
def apps(two_snapshots: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Handle]:
    """The stages' applications by name, which Ray Serve hands out: one for each snapshot."""
    apps = {}
    for number in (1, 2):
        release = Release(None, two_snapshots, f"{number:06d}")
        retriever: Any = Handle(Retriever(release))
        apps[f"cocite-stages-{number}"] = Handle(Reranker(release, retriever))
    monkeypatch.setattr(serve, "get_app_handle", apps.__getitem__)
    return apps
