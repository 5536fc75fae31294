"""What `/v1/version` tells of a second release."""

from __future__ import annotations

from pathlib import Path

from helpers.api_backend import InProcess, client

from cocite_mlflow.references import ModelVersion


def test_a_second_release_is_told_of(backend: InProcess) -> None:
    alone = client(backend).get("/v1/version").json()
    assert (alone["beside"], alone["releases"]) == (None, ["served"])
    backend.beside = InProcess(backend.recommender)
    backend.beside.registered = ModelVersion("ranker", 4, "challenger")
    beside = {"index": Path("index"), "traffic": "split", "share": 0.25}
    version = client(backend, beside=beside).get("/v1/version").json()
    assert version["releases"] == ["served", "beside", "challenger", "4", "ranker@challenger", "ranker/4"]
    assert version["beside"] == {
        "model_version": backend.model_version,
        "index_version": backend.index_version,
        "registered": {"name": "ranker", "version": 4, "alias": "challenger"},
        "traffic": "split",
        "share": 0.25,
    }
