"""The files under infra/kubernetes: as they are, and as kustomize makes them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from helpers.sources import ROOT

KUBERNETES = ROOT / "infra" / "kubernetes"
FOLDERS = ("serving", "jobs", "overlays/gpu", "overlays/sharded")
SERVING = ("serving", "overlays/gpu", "overlays/sharded")
JOBS = ("train", "embed", "sweep")
KUBECTL = Path(sys.executable).with_name("kubectl")


@cache
def rendered(folder: str) -> tuple[dict[str, Any], ...]:
    """The resources of a folder, with its patches and images in place."""
    done = subprocess.run([KUBECTL, "kustomize", KUBERNETES / folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return tuple(yaml.safe_load_all(done.stdout))


def job(name: str) -> dict[str, Any]:
    """A RayJob of the folder of jobs, which kustomize leaves as it is."""
    return yaml.safe_load((KUBERNETES / "jobs" / f"{name}.yaml").read_text())  # type: ignore[no-any-return]


def resources() -> Iterator[tuple[str, dict[str, Any]]]:
    """All resources of all folders, each with the name of its folder and its own."""
    for folder in FOLDERS:
        for resource in rendered(folder):
            yield f"{folder}:{resource['kind']}/{resource['metadata']['name']}", resource
    for name in JOBS:
        yield f"jobs/{name}.yaml", job(name)


def only(folder: str, kind: str) -> dict[str, Any]:
    """The one resource of its kind in a folder."""
    [found] = [resource for resource in rendered(folder) if resource["kind"] == kind]
    return found


def pods(part: Any, kind: str = "") -> Iterator[tuple[dict[str, Any], bool]]:
    """The templates of pods anywhere in a resource, and whether Ray runs in them."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "template" and "containers" in value.get("spec", {}):
                yield value, "rayStartParams" in part
            yield from pods(value)
    elif isinstance(part, list):
        for value in part:
            yield from pods(value)
