"""Trees grown and walked, compiled."""
