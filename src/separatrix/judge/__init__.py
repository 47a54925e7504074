"""How good a classifier is: bias and variance, comparisons, curves over what is chosen."""
