"""Training as jobs: in this process, under torchrun, or on Ray's workers."""
