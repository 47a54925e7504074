"""What is minimised, block by block."""
