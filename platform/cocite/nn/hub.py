"""Checks within seconds, before anything is loaded, whether a named model can be loaded on this machine.

Without the check, Hugging Face's client tries each file of a model for half a minute where its hub cannot be reached.
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
    """Whether a model must be loaded from this machine's cache, because no hub can be reached.

    Args:
        name: of a model on the hub; there is no folder of that name.

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
        reason = _why_unreachable(name)
        if reason is None:
            return False
        why, hint = f"{constants.ENDPOINT} cannot be reached ({reason})", HINT
    if not is_cached:
        where = Path(constants.HF_HUB_CACHE)
        raise NotFoundError(
            f"is neither a folder here nor a model in the cache {where}, and {why}", where=name, hint=hint
        )
    return True


def _why_unreachable(name: str) -> str | None:
    """The reason why the hub cannot be reached; None: it answers."""
    try:
        get_hf_file_metadata(hf_hub_url(name, CONFIG), timeout=TIMEOUT_S)
    except HfHubHTTPError as error:
        status = error.response.status_code
        # Other answers, such as that there is no such model, become errors when the model is loaded.
        return f"it answers {status}" if status >= 500 else None
    except Exception as error:  # the client may use one of several HTTP libraries, each with its own errors
        return str(error) or type(error).__name__
    return None
