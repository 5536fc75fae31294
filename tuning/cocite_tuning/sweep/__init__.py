"""The parts of a sweep that lie on disk: its file, its search space and sampler, its trials and its result."""
