from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cocite.errors import InputError
from cocite_serve.json_log import JsonLog, make_folder, open_log
from cocite_serve.settings import LogSettings


def settings(folder: Path, **more: int) -> LogSettings:
    return LogSettings(folder=folder, **more)


def test_a_line_is_json_with_the_time(tmp_path: Path) -> None:
    log = JsonLog.open(settings(tmp_path / "a" / "b"), "gateway")
    log.write({"path": "/v1/recommend", "words": 'a "quoted"\nline'})
    log.close()
    [line] = log.path.read_text().splitlines()
    read = json.loads(line)
    assert read["words"] == 'a "quoted"\nline'
    assert timedelta(0) <= datetime.now(UTC) - datetime.fromisoformat(read["time"]) < timedelta(minutes=1)


def test_only_its_user_may_read_it(tmp_path: Path) -> None:
    log = JsonLog.open(settings(tmp_path / "logs", file_bytes=1024), "gateway")
    for _ in range(30):
        log.write({"x": "y" * 100})
    log.close()
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "logs").glob("*.jsonl*")}
    assert modes == {0o600}


def test_the_files_stay_within_their_bytes_and_number(tmp_path: Path) -> None:
    log = JsonLog.open(settings(tmp_path, file_bytes=1024, files=3), "gateway")
    for number in range(200):
        log.write({"number": number})
    log.close()
    files = sorted(tmp_path.glob("*.jsonl*"))
    assert [path.name for path in files] == ["gateway-0.jsonl", "gateway-0.jsonl.1", "gateway-0.jsonl.2"]
    assert all(path.stat().st_size <= 1024 for path in files)
    assert json.loads(files[0].read_text().splitlines()[-1])["number"] == 199


def test_each_process_has_a_file_of_its_own_and_the_next_one_goes_on_with_it(tmp_path: Path) -> None:
    first, second = (JsonLog.open(settings(tmp_path), "gateway") for _ in range(2))
    assert (first.path.name, second.path.name) == ("gateway-0.jsonl", "gateway-1.jsonl")
    first.write({"n": 1})
    first.close()
    code = (
        "import sys; from cocite_serve.json_log import JsonLog; from cocite_serve.settings import LogSettings\n"
        "log = JsonLog.open(LogSettings(folder=sys.argv[1]), 'gateway'); log.write({'n': 2}); print(log.path.name)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "gateway-0.jsonl"
    assert [json.loads(line)["n"] for line in first.path.read_text().splitlines()] == [1, 2]
    second.close()


def test_a_folder_that_cannot_be_is_told_in_a_sentence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="the folder of the logs cannot be written"):
        make_folder(settings(tmp_path / "file" / "logs"))
    with caplog.at_level(logging.WARNING, "ray.serve"):
        assert open_log(settings(tmp_path / "file" / "logs"), "gateway") is None
    assert "gateway: no log is kept" in caplog.text


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_of_somebody_else_is_told_in_a_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        make_folder(settings(tmp_path))


def test_a_full_disk_stops_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    log = JsonLog.open(settings(tmp_path), "gateway")
    log.path.unlink()
    log.path.symlink_to("/dev/full")
    log._handler.close()
    log.write({"n": 1})
    assert capsys.readouterr().err == ""


def test_the_default_folder_is_the_users_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert LogSettings().folder == Path("/state/cocite/logs")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert LogSettings().folder == Path.home() / ".local/state/cocite/logs"
