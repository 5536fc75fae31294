"""What tests of the jobs share: a remote file system in memory."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A URI of an empty folder that is not on this machine, and a cache of the test's own for what is fetched."""
    monkeypatch.setenv("COCITE_CACHE", str(tmp_path / "cache"))
    name = uuid.uuid4().hex
    yield f"memory://{name}"
    files = fsspec.filesystem("memory")
    if files.exists(f"/{name}"):
        files.rm(f"/{name}", recursive=True)
