"""Negatives and noise distributions."""
