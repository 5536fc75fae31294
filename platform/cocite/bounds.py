"""Types of the values that settings take, each with its bounds; shared by all settings classes.

A lower bound is the least value that means something. An upper bound is generous: it refuses a typing error, such as
three zeros too many, before it takes all memory or runs for years. Numbers are finite, which
:class:`~cocite.config.Settings` sees to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

# -- whole numbers --------------------------------------------------------------------------------------------

Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""Start of a random number generator; the upper bound is that of LightGBM."""
Year = Annotated[int, Field(ge=0, le=9999)]
"""Calendar year."""
Epochs = Annotated[int, Field(ge=1, le=1_000_000)]
"""Passes over the training data."""
EpochsOrNone = Annotated[int, Field(ge=0, le=1_000_000)]
"""Passes over the training data where 0 leaves that part of a training out."""
Interval = Annotated[int, Field(ge=0, le=1_000_000_000)]
"""Steps between two events, where 0 has a meaning of its own."""
BatchSize = Annotated[int, Field(ge=1, le=65_536)]
"""Examples of an optimizer step; all of a batch are in memory at once, and in pairs for in-batch negatives."""
Dimension = Annotated[int, Field(ge=1, le=65_536)]
"""Components of a vector or units of a layer."""
Layers = Annotated[int, Field(ge=0, le=1_000)]
"""Layers of a network."""
Heads = Annotated[int, Field(ge=1, le=1_024)]
"""Attention heads."""
Total = Annotated[int, Field(ge=1, le=1_000_000_000)]
"""How many of something are taken at most from all that there are: papers, queries, words, steps."""
FileState = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""The size of a file in bytes, or a time of change in nanoseconds."""
TextLength = Annotated[int, Field(ge=1, le=1_000_000)]
"""Words, tokens or sentences of one text that are read at most."""
TextLengthOrNone = Annotated[int, Field(ge=0, le=1_000_000)]
"""The same where 0 has a meaning of its own."""
SmallCount = Annotated[int, Field(ge=0, le=10_000)]
"""How many of something each example, query or worker has: negatives, neighbours, retries."""
PositiveSmallCount = Annotated[int, Field(ge=1, le=10_000)]
"""The same where 0 would leave nothing to do."""
Depth = Annotated[int, Field(ge=2, le=2_000)]
"""Candidates of a query that are put in order."""
Threads = Annotated[int, Field(ge=1, le=1_024)]
"""CPU threads."""

# -- numbers --------------------------------------------------------------------------------------------------

LearningRate = Annotated[float, Field(gt=0, le=10)]
"""Step size of an optimizer."""
Penalty = Annotated[float, Field(ge=0, le=1_000)]
"""Weight of an L1 or L2 penalty; 0: none."""
GradientNorm = Annotated[float, Field(ge=0, le=1_000_000)]
"""Norm that a gradient is clipped to; 0: never."""
Share = Annotated[float, Field(ge=0, le=1)]
"""A part of a whole, from none to all."""
PositiveShare = Annotated[float, Field(gt=0, le=1)]
"""A part of a whole, not none."""
ProperShare = Annotated[float, Field(ge=0, lt=1)]
"""A part of a whole that leaves something over: dropout, or what is held out."""
Factor = Annotated[float, Field(ge=0, le=1_000)]
"""A weight, margin or multiplier; 0 turns off what it multiplies."""
PositiveFactor = Annotated[float, Field(gt=0, le=1_000)]
"""A multiplier that must not be 0, such as an inverse temperature."""
Power = Annotated[float, Field(ge=0, le=10)]
"""Exponent of a frequency; 0: all alike."""
Minutes = Annotated[float, Field(gt=0, le=525_600)]
"""Minutes of wall-clock time, up to a year."""
Seconds = Annotated[float, Field(gt=0, le=31_536_000)]
"""Seconds of wall-clock time, up to a year."""
PositiveCores = Annotated[float, Field(gt=0, le=10_000)]
"""CPUs that Ray reserves for something that needs one."""
Cores = Annotated[float, Field(ge=0, le=10_000)]
"""CPUs or GPUs that Ray reserves; a fraction is possible."""

# -- strings and paths ----------------------------------------------------------------------------------------

Name = Annotated[str, Field(min_length=1, max_length=256)]
"""What something is called: a metric, a signal, a registered model."""
TextPart = Annotated[str, Field(max_length=10_000)]
"""What stands in a text that a model reads: a prompt, or what separates two parts; empty: nothing does."""
Location = Annotated[str, Field(min_length=1, max_length=4_096)]
"""A path, a URI, or a name on the Hugging Face hub."""


def _usable(value: Any) -> Any:
    """Refuse an empty string, which would mean the current folder, and what no file system takes as a path."""
    text = str(value) if isinstance(value, str | Path) else "."
    if not 0 < len(text) <= 4_096 or "\0" in text:
        raise ValueError("must be a path of 1 to 4096 characters")
    return value


FilePath = Annotated[Path, BeforeValidator(_usable)]
"""A path on this machine."""
