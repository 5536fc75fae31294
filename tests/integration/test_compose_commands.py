"""The commands of infra/compose outside of containers: registry, endpoint, and its health check."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import httpx
import pytest
from helpers.compose_files import compose
from helpers.endpoint import START_S, free_port
from helpers.served_cross_encoder import cross_encoder_folder
from helpers.started_commands import started, until_answered

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_mlflow.registration import register_model

pytestmark = pytest.mark.integration
SERVICES = compose("compose.yml")["services"]


def test_the_endpoint_follows_the_registry_and_is_healthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, registry = tmp_path / "data", tmp_path / "registry"
    registry.mkdir()
    IndexSnapshot.create(build_starter(tmp_path / "corpus"), data / "index")
    ports = {number: str(free_port()) for number in ("5000", "8000", "9470")}

    def here(words: list[str]) -> list[str]:
        """Words of a command with the ports and folders of this test in the place of the containers'."""
        numbers = re.compile("|".join(ports))
        words = [numbers.sub(lambda match: ports[match[0]], word) for word in words]
        words = [word.replace("/data/", f"{data}/").replace("//registry", f"/{registry}") for word in words]
        return [word.replace("=/registry", f"={registry}") for word in words]

    [uri] = here([SERVICES["endpoint"]["environment"]["MLFLOW_TRACKING_URI"]])
    log = tmp_path / "mlflow.log"
    server_environment = SERVICES["mlflow"]["environment"]
    with started(here(SERVICES["mlflow"]["command"]), log, server_environment) as server:
        until_answered(server, f"{uri}/health", log)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        monkeypatch.chdir(tmp_path)
        assert register_model(cross_encoder_folder(tmp_path), "ranker", "champion") == 1
        command = [
            "--model=models:/ranker@champion" if word.startswith("--model=") else word
            for word in here(SERVICES["endpoint"]["command"])
        ]
        environment = {
            "MLFLOW_TRACKING_URI": uri,
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
        }
        log = tmp_path / "endpoint.log"
        with started([*command, f"--set=start_s={START_S}"], log, environment) as endpoint:
            url = f"http://127.0.0.1:{ports['8000']}"
            until_answered(endpoint, f"{url}/v1/health", log)
            registered = httpx.get(f"{url}/v1/version", timeout=60).json()["registered"]
            assert registered == {"name": "ranker", "version": 1, "alias": "champion"}
            assert httpx.get(f"http://127.0.0.1:{ports['9470']}/metrics", timeout=60).status_code == 200
            [kind, *check] = SERVICES["endpoint"]["healthcheck"]["test"]
            assert kind == "CMD"
            patient = [word.replace("--timeout=5", "--timeout=60") for word in here(check)]
            done = subprocess.run(patient, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            assert '"status":"ok"' in done.stdout
        gone = subprocess.run(here(check), capture_output=True, text=True)
        assert gone.returncode != 0, "an endpoint that has ended is not healthy"
