"""The unit of the endpoint: its commands are cocite's, and systemd reads it where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from helpers.sources import ROOT
from helpers.usage_commands import parsed

UNIT = ROOT / "infra" / "systemd" / "cocite.service"


def test_its_commands_are_cocites_and_prometheus_reads_its_port() -> None:
    lines = re.findall(r"^Exec\w+=/srv/cocite/\.venv/bin/(cocite .*)$", UNIT.read_text(), re.MULTILINE)
    assert [line.split()[1] for line in lines] == ["index", "model", "serve"]
    values = [parsed(line) for line in lines]
    content = yaml.safe_load((ROOT / "infra" / "prometheus" / "prometheus.yml").read_text())
    [target] = content["scrape_configs"][0]["static_configs"][0]["targets"]
    assert target == f"127.0.0.1:{values[-1]['metrics_port']}"


def test_systemd_knows_every_line(tmp_path: Path) -> None:
    binary = shutil.which("systemd-analyze")
    if binary is None:
        pytest.skip("no systemd on this machine")
    unit = tmp_path / UNIT.name
    # The programs and the user are not on this machine.
    text = re.sub(r"/srv/cocite/\.venv/bin/cocite", "/bin/true", UNIT.read_text())
    unit.write_text(re.sub(r"(?m)^User=.*\n", "", text))
    done = subprocess.run([binary, "verify", "--man=no", str(unit)], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert ours == []
