"""Ranking queries in parts, which workers rank side by side: of a file, or of an evaluation's task."""
