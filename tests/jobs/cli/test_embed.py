"""``cocite embed`` prints rates, and ``cocite index build --vectors-from`` takes the vectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.untrained_encoders import untrained_encoders

from cocite.corpus.starter import starter_corpus
from cocite.corpus.store import BODY_FILES
from cocite_jobs.storage.cache import cache_folder
from cocite_jobs.storage.location import Location


def test_vectors_are_made_and_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str], remote: str) -> None:
    corpus = starter_corpus()
    model = untrained_encoders(corpus, tmp_path / "model")
    line = ("embed", corpus.path, "--model", model, "--to", tmp_path / "v")
    code, out, err = call(capsys, *line)
    assert code == 0, err
    assert "v/nnselect: 423 vectors of 8 components in float32, 0.0 MB; " in out
    assert " papers/s, " in out
    assert " tokens/s, MFU " in out
    code, out, err = call(capsys, *line)
    assert out.endswith("MB; all were made before\n"), err
    code, out, err = call(capsys, *line[:-1], f"{remote}/v", "--dtype", "float16", "--json")
    [facts] = json.loads(out)["encoders"]
    assert (facts["rows"], facts["made"], facts["dtype"]) == (423, 423, "float16")
    assert facts["cpu_seconds"] >= 0
    for source in (tmp_path / "v", tmp_path / "v" / "nnselect", f"{remote}/v"):
        build = ("index", "build", corpus.path, "--to", tmp_path / "index", "--vectors-from", source)
        code, out, err = call(capsys, *build)
        assert code == 0, err
        assert "vectors: nnselect flat" in out


def test_body_sentences_that_no_encoder_reads_are_not_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], remote: str
) -> None:
    corpus = starter_corpus()
    Location.of(f"{remote}/corpus").put(corpus.path)
    model = untrained_encoders(corpus, tmp_path / "model")
    code, _, err = call(capsys, "embed", f"{remote}/corpus", "--model", model, "--to", tmp_path / "v")
    assert code == 0, err
    assert not [path for name in BODY_FILES for path in cache_folder().rglob(name)]
