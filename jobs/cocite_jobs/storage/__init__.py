"""Artifacts and checkpoints in folders of this machine and in remote file systems."""
