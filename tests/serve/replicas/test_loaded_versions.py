"""Replicas of other versions never answer one request together."""

from __future__ import annotations

import pytest

from cocite_serve.http.problems import NotReadyError
from cocite_serve.replicas.loaded_versions import LoadedVersions


@pytest.mark.parametrize("other", [LoadedVersions("5f0d", "000001"), LoadedVersions("5f0c", "000002")])
def test_other_versions_are_refused(other: LoadedVersions) -> None:
    mine = LoadedVersions("5f0c", "000001")
    mine.require_same(LoadedVersions("5f0c", "000001"), "retriever")
    with pytest.raises(
        NotReadyError, match=f"the retriever serves model {other.model} and index {other.index}"
    ):
        mine.require_same(other, "retriever")
