"""The index: all that the first stage searches, and its versions on disk."""
