"""Golden queries of a model that is about to be registered, so that an endpoint can tell it from a broken one."""

from __future__ import annotations

from pathlib import Path

from cocite.errors import CociteError


def golden_note(model: Path, index: Path | None) -> str:
    """Make a model's golden queries where an index is given; else see whether the model keeps some of its own.

    Where they cannot be made, the model is worth registering all the same: the reason is told.

    Args:
        model: the model folder.
        index: whose papers ask, and are found; None: none is at hand.

    Returns:
        A sentence for the operator; empty where all is as it was.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(golden_note(Path(folder), None)[:60])
        warning: the model keeps no golden queries of its own: an en
    """
    from cocite.pipeline.golden_queries import are_missing, make_golden_queries  # imports models

    try:
        if index is not None:
            made = make_golden_queries(model, index)
            return f"kept {len(made.queries)} golden queries with the model"
        if not are_missing(model):
            return ""
        reason = "the model keeps no golden queries of its own"
    except CociteError as error:
        reason = f"no golden queries were made: {error}"
    return (
        f"warning: {reason}: an endpoint can hardly tell it from one with random weights; "
        "cocite model golden MODEL --index INDEX makes them"
    )
