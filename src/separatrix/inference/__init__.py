"""What a fitted likelihood says beyond its coefficients: errors, intervals, tests, residuals, and how they print."""
