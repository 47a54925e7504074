"""Naive Bayes is a list of parts: a kind of column each."""
