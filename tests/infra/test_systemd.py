"""The unit of the endpoint: its commands work in another folder, and systemd reads it where it is installed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml
from helpers.command_line import call
from helpers.endpoint import free_port
from helpers.served_texts import texts_folders
from helpers.sources import ROOT
from helpers.started_commands import started, until_answered
from helpers.usage_commands import parsed

UNIT = ROOT / "infra" / "systemd" / "cocite.service"


def values(name: str) -> list[str]:
    """The values of a key of the unit, in order."""
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)


def test_its_commands_are_cocites_and_prometheus_reads_its_port() -> None:
    lines = [
        line.removeprefix("/srv/cocite/.venv/bin/") for line in values("ExecStartPre") + values("ExecStart")
    ]
    assert [line.split()[:2] for line in lines] == [
        ["cocite", "index"],
        ["cocite", "model"],
        ["cocite", "serve"],
    ]
    parameters = [parsed(line) for line in lines]
    content = yaml.safe_load((ROOT / "infra" / "prometheus" / "prometheus.yml").read_text())
    [target] = content["scrape_configs"][0]["static_configs"][0]["targets"]
    assert target == f"127.0.0.1:{parameters[-1]['metrics_port']}"


def test_the_service_checks_its_files_answers_and_ends_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The unit's lines with its environment, below another folder; without Ray, which other tests start."""
    texts_folders(tmp_path)
    ports = {port: str(free_port()) for port in ("8000", "9470")}

    def here(text: str) -> list[str]:
        """The words of a line, with this environment's programs, another folder and other ports."""
        words = shlex.split(text.replace("/srv/cocite/.venv/bin", str(Path(sys.executable).parent)))
        return [ports.get(word, word).replace("/srv/cocite", str(tmp_path)) for word in words]

    given = dict(word.split("=", 1) for line in values("Environment") for word in here(line))
    [folder] = here(values("WorkingDirectory")[0])
    with monkeypatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        for line in values("ExecStartPre"):
            code, _, err = call(capsys, *here(line)[1:])
            assert code == 0, err
    [start] = values("ExecStart")
    log = tmp_path / "service.log"
    with started([*here(start), "--on", "process"], log, given, Path(folder)) as service:
        url = f"http://127.0.0.1:{ports['8000']}"
        until_answered(service, f"{url}/v1/health", log)
        answer = httpx.post(f"{url}/v1/recommend", json={"context": "Scores [CIT]."}, timeout=60)
        assert answer.status_code == 200, answer.text
        metrics = httpx.get(f"http://127.0.0.1:{ports['9470']}/metrics", timeout=60).text
        assert 'path="/v1/recommend"' in metrics
    # Restart=on-failure: what systemd ends has not failed.
    assert service.returncode == 0, log.read_text()
    # Where it writes is below a folder that the unit lets it write to.
    assert list(Path(given["XDG_STATE_HOME"], "cocite", "logs").glob("gateway-*.jsonl"))
    assert list(Path(given["XDG_CACHE_HOME"], "cocite", "verified").iterdir())
    writable = [place for line in values("ReadWritePaths") for place in here(line)]
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        assert any(Path(given[name]).is_relative_to(place) for place in writable)


def test_systemd_knows_every_line(tmp_path: Path) -> None:
    binary = shutil.which("systemd-analyze")
    if binary is None:
        pytest.skip("no systemd on this machine (Debian: apt-get install systemd)")
    unit = tmp_path / UNIT.name
    # The programs and the user are not on this machine.
    text = re.sub(r"/srv/cocite/\.venv/bin/cocite", "/bin/true", UNIT.read_text())
    unit.write_text(re.sub(r"(?m)^User=.*\n", "", text))
    done = subprocess.run([binary, "verify", "--man=no", str(unit)], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert ours == []
