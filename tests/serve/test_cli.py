from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from helpers.command_line import call

from cocite_serve import endpoint as endpoint_module
from cocite_serve.settings import ServeSettings

pytestmark = pytest.mark.usefixtures("signal_handlers")


class Endpoint:
    """An endpoint that serves nothing, until the command gets a signal."""

    url = "http://127.0.0.1:8000"

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_open = False

    @property
    def metrics_url(self) -> str:
        """The last of what the command prints before it waits for a signal: this is when one comes."""
        if self.is_open:
            os.kill(os.getpid(), self.number)
        return "http://127.0.0.1:9470/metrics"

    def __enter__(self) -> Endpoint:
        self.is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_open = False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_signal_and_ends_the_endpoint(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint, asked = Endpoint(number), {}

    def start(settings: ServeSettings, **options: Any) -> Endpoint:
        asked.update(options, settings=settings)
        return endpoint

    monkeypatch.setattr(endpoint_module, "start", start)
    line = (
        "serve",
        "--index",
        tmp_path,
        "--replicas",
        2,
        "--host",
        "0.0.0.0",
        "--set",
        "limits.top_k=50",
        "--json",
    )
    code, out, err = call(capsys, *line)
    assert code == 0, err
    assert json.loads(out) == {
        "url": endpoint.url,
        "docs": f"{endpoint.url}/docs",
        "metrics": endpoint.metrics_url,
    }
    assert "Anybody who reaches 0.0.0.0:8000 can use the endpoint" in err
    assert err.rstrip().endswith("Ending …")
    assert not endpoint.is_open
    settings = asked["settings"]
    assert {stage.replicas for stage in (settings.gateway, settings.retriever, settings.reranker)} == {2}
    assert settings.limits.top_k == 50
    assert asked["quiet"] is True


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, "stopped"), (signal.SIGTERM, 0, "Ended before it was up.")],
)
def test_a_signal_while_it_starts_ends_it(
    number: int,
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(settings: ServeSettings, **options: Any) -> Endpoint:
        os.kill(os.getpid(), number)
        raise AssertionError("the signal comes before")

    monkeypatch.setattr(endpoint_module, "start", start)
    found, out, err = call(capsys, "serve", "--index", tmp_path)
    assert (found, out) == (code, "")
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "0"], "Invalid value for '--port'"),
        (["--set", "limits.topk=3"], "did you mean 'top_k'?"),
        (["--watch", "-1"], "Invalid value for '--watch'"),
    ],
)
def test_mistakes_are_reported_before_anything_starts(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, "serve", "--index", tmp_path, *arguments)
    assert (code, out) == (2, "")
    assert message in err
