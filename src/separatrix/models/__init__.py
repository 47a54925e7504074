"""One classifier a file: the statistics it needs, the solver it uses, what it predicts."""
