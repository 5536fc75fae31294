"""The commands of the Dockerfile, run below another folder: what the image installs, and what it starts."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from helpers.dockerfile import stages
from helpers.sources import ROOT

OURS = re.compile(r"_*(cocite|editable)", re.IGNORECASE)
"""What an editable install of this repository leaves among the packages of an environment."""


def packages(folder: Path) -> Path:
    """The packages that this environment has, without cocite: the same constraints made it."""
    folder.mkdir()
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not OURS.match(path.name):
            (folder / path.name).symlink_to(path)
    return folder


def copy(words: list[str], folder: Path) -> None:
    """Copy what COPY names out of the repository, without what .dockerignore leaves out of it."""
    *sources, target = words
    for source in sources:
        to = folder / target / (source if target.endswith("/") else "")
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, to)


def test_the_first_stage_installs_cocite_of_the_constraints_and_it_starts(tmp_path: Path) -> None:
    """No package is fetched: pip finds each requirement among the packages of this environment, or fails."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("no hatchling, which builds cocite, in this environment: make env")
    first, last = stages()

    def here(text: str) -> str:
        return re.sub(r"/(?=opt/cocite\b|build\b)", f"{tmp_path}/", text)

    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(packages(tmp_path / "packages")),
        "PIP_NO_INDEX": "1",
        "PIP_NO_COMPILE": "1",
        # pip's name for an option that is off: the builder is the environment's.
        "PIP_NO_BUILD_ISOLATION": "0",
    }
    # The image's Python; that of this environment would be taken for the place to install into.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(Path(sys.base_prefix, "bin", f"python3.{sys.version_info[1]}"))
    environment["PATH"] = f"{tmp_path}/bin:{environment['PATH']}"
    folder = tmp_path
    for name, rest in first.instructions:
        if name in ("ARG", "ENV"):
            for word in shlex.split(rest):
                key, _, value = here(word).partition("=")
                environment[key] = value.replace("$PATH", environment["PATH"])
        elif name == "WORKDIR":
            folder = Path(here(rest))
            folder.mkdir()
        elif name == "COPY":
            copy(shlex.split(rest), folder)
        else:
            assert name == "RUN"
            done = subprocess.run(
                ["sh", "-c", here(rest)], cwd=folder, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{rest}\n{done.stdout}{done.stderr}"
    installed = Path(here("/opt/cocite"))
    [copied] = [words for words in map(shlex.split, last.values("COPY")) if words[0] == "--from=build"]
    assert copied[1:] == ["/opt/cocite", "/opt/cocite"]
    [command] = [json.loads(text) for text in last.values("CMD")]
    started = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "serve" in started.stdout
    shown = subprocess.run(
        [installed / "bin" / "python", "-c", "import cocite, cocite_serve; print(cocite.__file__)"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(shown.stdout.strip()).is_relative_to(installed)


def test_the_last_stage_makes_the_user_its_folders_and_the_path_of_a_login_shell(tmp_path: Path) -> None:
    if os.geteuid() != 0 or any(shutil.which(name) is None for name in ("apt-get", "dpkg-query", "useradd")):
        pytest.skip("needs root on Debian, as the image is built")
    last = stages()[-1]
    [line] = last.values("RUN")
    [names] = re.findall(r"apt-get install (.*?)&&", line)
    wanted = [word for word in names.split() if not word.startswith("-")]
    if subprocess.run(["dpkg-query", "--show", *wanted], capture_output=True).returncode != 0:
        pytest.skip(f"not installed, so that apt-get has nothing to say of them: {' '.join(wanted)}")
    for path in ("etc/profile.d", "var/lib/apt/lists"):
        (tmp_path / path).mkdir(parents=True)
    for name in ("passwd", "group", "shadow", "gshadow"):
        (tmp_path / "etc" / name).touch()
    # apt-get reads its options and installs nothing; it knows no source of packages, only those that are installed.
    simulated = tmp_path / "apt.conf"
    simulated.write_text(
        f'APT::Get::Simulate "true"; Dir::Etc::SourceList "/dev/null"; Dir::Etc::SourceParts "/dev/null";\n'
        f'Dir::State::Lists "{tmp_path}/var/lib/apt/lists"; Dir::Cache "{tmp_path}/apt-cache";\n'
    )
    script = re.sub(r"(?<=\s)/(?=(?:cache|data|state|etc|var)\b)", f"{tmp_path}/", line)
    script = script.replace("useradd ", f"useradd --prefix {tmp_path} ")
    # That user is in the other folder's list alone, and this machine's install knows it by number.
    [uid] = last.values("USER")
    script = script.replace("--owner cocite", f"--owner {uid}")
    done = subprocess.run(
        ["sh", "-c", script],
        env=os.environ | {"APT_CONFIG": str(simulated)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [user] = (tmp_path / "etc" / "passwd").read_text().splitlines()
    assert user.split(":")[:3:2] == ["cocite", uid]
    assert user.endswith("/usr/sbin/nologin")
    for name in ("cache", "data", "state"):
        assert (tmp_path / name).stat().st_uid == int(uid)
    login = f". {tmp_path}/etc/profile.d/cocite.sh && echo $PATH"
    path = subprocess.run(["sh", "-c", login], capture_output=True, text=True, check=True).stdout
    assert path.startswith("/opt/cocite/bin:")
