"""Formats other than delimited text, one a file."""
