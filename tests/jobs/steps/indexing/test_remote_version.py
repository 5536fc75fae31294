"""The next version elsewhere is the one behind those that are complete; tests of the build publish it."""

from __future__ import annotations

import pytest
from helpers.object_stores import everywhere

from cocite.errors import InputError
from cocite_jobs.steps.indexing.remote_version import RemoteVersion
from cocite_jobs.storage.location import Location


@everywhere
def test_its_name(remote: str) -> None:
    root = Location.of(f"{remote}/index")
    assert RemoteVersion.next(root).name == "000001"
    (root / "versions" / "000001" / "words").write("vocabulary.txt", "")  # an upload that has not ended
    assert RemoteVersion.next(root).name == "000001"
    (root / "versions" / "000001").write("manifest.json", "{}")
    assert RemoteVersion.next(root).folder.uri == f"{remote}/index/versions/000002"
    root.write("thesis.tex", "")
    with pytest.raises(InputError, match="holds something that is not an index"):
        RemoteVersion.next(root)
    root.write("CURRENT", "000001")
    assert RemoteVersion.next(root).name == "000002"
