"""The loop that trains every neural model, on one process or many."""
