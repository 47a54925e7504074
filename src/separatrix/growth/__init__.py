"""Stumps and trees: grown, walked, stored."""
