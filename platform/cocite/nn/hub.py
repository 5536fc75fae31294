"""Whether a name stands for a model that can be had here, found out within seconds and before anything is loaded.

Hugging Face's client tries each of a model's files for half a minute where its hub cannot be reached.
"""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from cocite.errors import NotFoundError

CONFIG = "config.json"
TIMEOUT_S = 5.0
"""Seconds for the hub to answer."""
HINT = "copy the model here and name its folder, or set HF_HOME to a cache that has it"


def must_be_cached(name: str) -> bool:
    """Whether a model can be had from this machine's cache alone, for no hub can be asked.

    Args:
        name: of a model on the hub; no folder is called so.

    Raises:
        NotFoundError: the name is a path, or neither the cache nor a hub that answers has the model.
    """
    try:
        if name.startswith(("/", ".", "~")):
            raise HFValidationError
        is_cached = isinstance(try_to_load_from_cache(name, CONFIG), str)
    except HFValidationError as error:
        raise NotFoundError(
            "no such folder", where=name, hint="name a Hugging Face model folder, or a model of the hub"
        ) from error
    if constants.is_offline_mode():
        why, hint = "HF_HUB_OFFLINE forbids to ask the hub", f"unset HF_HUB_OFFLINE, {HINT}"
    else:
        found = _why_unreachable(name)
        if found is None:
            return False
        why, hint = f"{constants.ENDPOINT} cannot be reached ({found})", HINT
    if not is_cached:
        where = Path(constants.HF_HUB_CACHE)
        raise NotFoundError(
            f"is neither a folder here nor a model in the cache {where}, and {why}", where=name, hint=hint
        )
    return True


def _why_unreachable(name: str) -> str | None:
    """What keeps the hub from answering; None: it answers."""
    try:
        get_hf_file_metadata(hf_hub_url(name, CONFIG), timeout=TIMEOUT_S)
    except HfHubHTTPError as error:
        status = error.response.status_code
        return (
            f"it answers {status}" if status >= 500 else None
        )  # what else it says is told when the model is loaded
    except Exception as error:  # whichever HTTP library the client uses raises errors of its own
        return str(error) or type(error).__name__
    return None
