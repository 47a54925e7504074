"""Formulas as R's users write them, read, applied and remembered."""
