"""Why a release is not served."""

from __future__ import annotations

import re

from cocite.errors import CociteError


class RolloutError(CociteError):
    """A release did not come up, or is not fit to be served.

    Example:
        >>> print(RolloutError("a stage cannot be loaded", hint="the server's log says why"))
        a stage cannot be loaded (the server's log says why)
    """


class RolledBackError(RolloutError):
    """A release has answered a share of the requests, and was taken back.

    Example:
        >>> print(RolledBackError("in the canary 3 of 20 requests failed"))
        in the canary 3 of 20 requests failed
    """


def last_line(text: object) -> str:
    """The last line of a traceback; of an error of cocite's, the sentence alone.

    Example:
        >>> last_line("Traceback\\n  ...\\ncocite.errors.InputError: the index holds no vectors")
        'the index holds no vectors'
    """
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return re.sub(r"^cocite\.[\w.]+: ", "", lines[-1]) if lines else ""
