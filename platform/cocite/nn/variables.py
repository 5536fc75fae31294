"""Variables of the environment that change how a process computes, for those that start one and need no PyTorch."""

from __future__ import annotations

PRECISION = "COCITE_PRECISION"
"""Names one precision where else the fastest would be chosen: :func:`cocite.nn.precision.named_dtype`."""
KERNEL_CACHES = {"LRU_CACHE_CAPACITY": "512", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "512"}
"""Environment of a process that serves: how many products torch and oneDNN each keep compiled, by shape.

A kept product takes up to a megabyte. The rounded shapes of :mod:`cocite.nn.frozen_bert` are fewer than this; it bounds
what all else in the process adds (`benchmarks/kernel_caches.py`). Read when the first product is made.
"""
