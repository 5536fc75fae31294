"""Scoring candidates: learned fusion."""
