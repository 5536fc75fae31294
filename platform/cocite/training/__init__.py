"""The training loop as a plain function."""
