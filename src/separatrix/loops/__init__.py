"""Compiled loops: arrays in, arrays out, without the GIL. NumPy and Numba, nothing of ours."""
