"""Whether every answer of an endpoint is one that its OpenAPI document has, by schemathesis."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_DRAFT_PATHS = ("/v1/draft", "/v1/draft/finished")
DRAFTS = tuple(f"--include-path={path}" for path in _DRAFT_PATHS)
"""Asks only what reads a draft, for which the endpoint starts a process each time."""
WITHOUT_DRAFTS = tuple(f"--exclude-path={path}" for path in _DRAFT_PATHS)
CONFIG = Path(__file__).resolve().parents[2] / "schemathesis.toml"


def require_documented_answers(url: str, folder: Path, *options: str) -> None:
    """Ask an endpoint what schemathesis makes of its document, and fail with its report.

    Args:
        url: of the endpoint.
        folder: where schemathesis keeps its examples.
        options: of ``schemathesis run``.
    """
    program = Path(sys.executable).with_name("schemathesis")
    command = [str(program), "--config-file", str(CONFIG), "run", f"{url}/openapi.json"]
    done = subprocess.run(
        [*command, "--seed", "1", "--no-color", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
