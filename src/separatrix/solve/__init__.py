"""How parameters are found; one method a file, listed in a registry that knows what each one needs."""
