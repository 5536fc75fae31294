"""Sweeps, which search for hyperparameters."""
