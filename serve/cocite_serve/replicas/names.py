"""Names of the Ray Serve applications: one of the gateways, which stays, and one of the stages of each release."""

from __future__ import annotations

from cocite_serve.http.problems import NotReadyError

GATEWAYS = "cocite"
"""The application of the gateways."""
STAGES = "cocite-stages-"
"""The applications of the stages: this and a number, the newest has the highest."""


def stages_number(app: str) -> int:
    """The number of an application of stages.

    Example:
        >>> stages_number("cocite-stages-12")
        12
    """
    return int(app.removeprefix(STAGES))


def newest_stages() -> str:
    """The newest application of stages that runs; where none runs (while replicas are added, say), the oldest.

    Raises:
        NotReadyError: there is none.
    """
    from ray import serve

    apps = serve.status().applications
    names: list[str] = sorted((name for name in apps if name.startswith(STAGES)), key=stages_number)
    if not names:
        raise NotReadyError("no stages are loaded")
    return next((name for name in reversed(names) if apps[name].status == "RUNNING"), names[0])
