"""What `/v1/version` tells of a second release."""

from __future__ import annotations

from pathlib import Path

from helpers.api_backend import InProcess, client

from cocite_mlflow.references import ModelVersion


def test_a_second_release_is_told_of(backend: InProcess) -> None:
    assert client(backend).get("/v1/version").json()["beside"] is None
    backend.beside = InProcess(backend.recommender)
    backend.beside.registered = ModelVersion("ranker", 4, "challenger")
    beside = {"index": Path("index"), "traffic": "split", "share": 0.25}
    assert client(backend, beside=beside).get("/v1/version").json()["beside"] == {
        "model_version": backend.model_version,
        "index_version": backend.index_version,
        "registered": {"name": "ranker", "version": 4, "alias": "challenger"},
        "traffic": "split",
        "share": 0.25,
    }
