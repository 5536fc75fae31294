"""The chain: first stage, second stage, and the recommender that joins them."""
