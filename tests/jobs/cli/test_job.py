"""What ``cocite job`` refuses before anything is sent."""

from __future__ import annotations

import os

import pytest
from helpers.command_line import call

PLACES = ["--corpus", "/data/corpus", "--to", "s3://models/ours"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nnselect", "training.epoch=3", *PLACES], "unknown key 'training.epoch' (did you mean 'epochs'?)"),
        (["nnselct", *PLACES], "no recipe 'nnselct'"),
        (["nnselect", "--to", "/model"], "--corpus: is needed: a path on the cluster, or a URI"),
        (["nnselect", "--corpus", "store", "--to", "/m"], "--corpus: 'store' is relative"),
        (["nnselect", "--corpus", "/c", "--to", "./m"], "--to: './m' is relative"),
        (
            ["tune", "nnselect", "space.training.epoch={choice: [1]}", "--corpus", "/c", "--to", "/sweep"],
            "space: unknown key 'training.epoch' (did you mean 'training.epochs'?)",
        ),
        (
            ["scibert-local", "workers.count=8", *PLACES],
            "training.batch: a step of 1 example cannot be shared out to 8 workers",
        ),
        (
            ["nnselect", *PLACES, "--address", "head:8265"],
            "'head:8265' is not the address of a cluster's dashboard",
        ),
        (
            ["nnselect", *PLACES, "--address", "http://127.0.0.1:9"],
            "http://127.0.0.1:9: no Ray cluster answers there",
        ),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, "job", "submit", *arguments)
    assert code == (1 if "no Ray" in sentence else 2)
    assert out == ""
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_the_given_address_counts_not_the_environments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:11")
    assert "http://127.0.0.1:9: no" in call(capsys, "job", "list", "--address", "http://127.0.0.1:9")[2]
    assert "http://127.0.0.1:11: no" in call(capsys, "job", "list")[2]
    assert os.environ["RAY_ADDRESS"] == "http://127.0.0.1:11"
    assert "RAY_API_SERVER_ADDRESS" not in os.environ
