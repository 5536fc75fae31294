"""Names of the Ray Serve applications: one of the gateways, which stays, and one of the stages of each release."""

from __future__ import annotations

from cocite_serve.http.problems import NotReadyError

GATEWAYS = "cocite"
"""The application of the gateways."""
STAGES = "cocite-stages-"
"""The applications of the stages: this and a number, that of a later release is higher."""

BESIDE = "cocite-beside-"
"""The applications of the stages of a release beside the served one: gateways never take them for the served one's."""


def stages_number(app: str) -> int:
    """The number of an application of stages.

    Example:
        >>> stages_number("cocite-stages-12")
        12
    """
    return int(app.removeprefix(STAGES).removeprefix(BESIDE))


def served_stages(wanted: str = "") -> str:
    """The application of stages that a gateway calls until it is told to call others.

    Where several run, it is the oldest: a later one may be on trial, and the oldest is deleted only when all gateways
    have been told to leave it.

    Args:
        wanted: a name that is preferred, if it runs.

    Raises:
        NotReadyError: there is none.
    """
    from ray import serve

    apps = serve.status().applications
    names: list[str] = sorted((name for name in apps if name.startswith(STAGES)), key=stages_number)
    if not names:
        raise NotReadyError("no stages are loaded")
    running = [name for name in names if apps[name].status == "RUNNING"]
    if wanted in running:
        return wanted
    return next(iter(running), names[0])  # none runs: replicas are being added, say
