"""What an endpoint refuses before Ray is started, and how it stops; on a real Ray it runs in tests/integration."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.endpoint import free_port

from cocite.artifacts import publish
from cocite.corpus.starter import build_starter
from cocite.errors import CociteError, InputError
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.index.versions import VersionLock
from cocite_serve import endpoint as module
from cocite_serve.endpoint import Endpoint, start
from cocite_serve.notices import Notices
from cocite_serve.release import LockedRelease, Release, ReleaseSource
from cocite_serve.settings import ServeSettings


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1:{port}"):
            start(ServeSettings(index=tmp_path, port=port))


def test_a_taken_port_for_metrics(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        settings = ServeSettings(index=tmp_path, port=free_port(), metrics_port=port)
        with pytest.raises(InputError, match=f"--metrics-port: cannot listen on 127.0.0.1:{port}"):
            start(settings)


def test_an_index_without_papers_is_refused_before_ray_is_started(tmp_path: Path) -> None:
    folder = tmp_path / "index" / "versions" / "000001"
    with publish(folder, kind="index", meta={"papers": 0}):
        pass
    (tmp_path / "index" / "CURRENT").write_text("000001")
    with pytest.raises(InputError, match="the index holds no paper"):
        start(ServeSettings(index=tmp_path / "index", port=free_port()))


def test_an_index_that_knows_no_citation_is_served_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = build_starter(tmp_path / "corpus")
    IndexSnapshot.create(corpus, tmp_path / "index", known_until=int(corpus.years[corpus.years > 0].min()))
    lines: list[str] = []

    class StartedError(Exception):
        """Raised in place of a start of Ray."""

    def no_ray(*_: object) -> None:
        raise StartedError("here Ray would start")

    monkeypatch.setattr(module, "start_patiently", no_ray)
    monkeypatch.setattr(Endpoint, "stop", lambda self: None)
    logs = {"folder": str(tmp_path / "logs")}
    settings = ServeSettings(index=tmp_path / "index", port=free_port(), logs=logs)
    with pytest.raises(StartedError, match="here Ray would start"):
        start(settings, notify=lines.append)
    [line] = lines
    assert line.startswith("cocite: warning: ")
    assert "whose links the index knows" in line
    [kept] = (tmp_path / "logs" / "endpoint-0.jsonl").read_text().splitlines()
    assert json.loads(kept)["message"] == line


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:8080"),
        ("localhost", "http://127.0.0.1:8080"),
        ("::1", "http://[::1]:8080"),
        ("server.example.org", "http://server.example.org:8080"),
    ],
)
def test_the_address_at_which_it_is_reached(host: str, url: str, tmp_path: Path) -> None:
    assert stopped_endpoint(tmp_path, host=host, port=8080).url == url


def stopped_endpoint(folder: Path, temporary: Path | None = None, **settings: Any) -> Endpoint:
    """An endpoint on which nothing was started."""
    parsed = ServeSettings(index=folder, **settings)
    first = LockedRelease(Release(None, folder, "000001"), (VersionLock(None),))
    return Endpoint(parsed, ReleaseSource(parsed), first, temporary, Notices(print))


def test_a_stop_deletes_what_runs_and_releases_the_files_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    calls: list[str] = []
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray, "shutdown", lambda: calls.append("shutdown"))
    monkeypatch.setattr(LockedRelease, "unlock", lambda self: calls.append("unlock"))
    (temporary := tmp_path / "ray").mkdir()
    with stopped_endpoint(tmp_path, temporary) as endpoint:
        monkeypatch.setattr(endpoint._rollout, "delete", lambda: calls.append("delete"))
    endpoint.stop()
    assert calls == ["delete", "shutdown", "unlock"]
    assert not temporary.exists()


@pytest.mark.parametrize("private", [True, False])
def test_what_cannot_be_deleted_is_an_error_on_a_cluster_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, private: bool
) -> None:
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    endpoint = stopped_endpoint(tmp_path, tmp_path / "ray" if private else None)

    def fail() -> None:
        raise CociteError("the controller is gone")

    monkeypatch.setattr(endpoint._rollout, "delete", fail)
    if private:
        endpoint.stop()
    else:
        with pytest.raises(CociteError, match="the controller is gone"):
            endpoint.stop()


def test_the_callers_sigterm_handler_is_restored() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with module._keep_sigterm():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGTERM) is before

    def ended_by_ray() -> None:
        with module._keep_sigterm():
            raise SystemExit(1)

    with pytest.raises(KeyboardInterrupt, match="^$"):
        ended_by_ray()


def test_neither_ray_nor_mlflow_is_imported_before_they_are_needed() -> None:
    """Ray reads its environment when it is imported, which the start of an endpoint sets."""
    code = "import sys, cocite_serve.endpoint; sys.exit(bool({'ray', 'mlflow'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], check=False, env=dict(os.environ))
    assert done.returncode == 0


def test_the_process_that_starts_replicas_imports_no_pytorch() -> None:
    """It computes nothing, and PyTorch would take three seconds of its start."""
    code = "import sys, cocite_serve.replicas.applications; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("before", ["", "import ray; "])
def test_replicas_listen_where_the_node_is_asked(before: str) -> None:
    """A node has another address than the loopback one where a program has imported Ray before."""
    code = (
        f"{before}from cocite.ray_start import one_machine\n"
        "with one_machine(): import ray\n"
        "from cocite_serve.endpoint import _first_call\n"
        "print(ray.util.get_node_ip_address(), len(_first_call(ray)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, env=dict(os.environ), stdout=subprocess.PIPE, text=True
    )
    address, calls = done.stdout.split()
    assert (address == "127.0.0.1") == (calls == "1")
    assert before or address == "127.0.0.1"
