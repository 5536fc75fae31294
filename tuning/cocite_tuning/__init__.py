"""What searches: hyperparameter sweeps."""
