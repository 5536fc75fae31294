"""Text to tokens: gaps, fields, vocabularies."""
