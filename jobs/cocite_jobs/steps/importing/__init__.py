"""The import of a corpus whose parts are read side by side."""
