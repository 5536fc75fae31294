"""Folders and checkpoints on this machine and elsewhere."""
