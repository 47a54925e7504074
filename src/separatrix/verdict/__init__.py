"""Why an answer may be believed: bounds, proofs of separation, and the value that carries them."""
