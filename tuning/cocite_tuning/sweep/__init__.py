"""What a sweep is on disk: its file, its search space and sampler, its trials and its result."""
