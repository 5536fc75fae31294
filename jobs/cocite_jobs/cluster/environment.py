"""Environment variables that Ray reads, set for as long as they are needed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def default_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables while the block runs, except those that the user has set.

    Args:
        variables: name -> value.
    """
    new = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        # Later trainings of this process may have another timeout.
        for name in new:
            os.environ.pop(name, None)
