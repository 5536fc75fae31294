"""One file per published model."""
