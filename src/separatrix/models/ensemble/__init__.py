"""Trees, and ensembles of any learners."""
