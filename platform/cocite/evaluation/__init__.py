"""Metrics, significance, and the published tables."""
