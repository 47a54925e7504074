"""Prediction rules fitted directly: perceptrons and support vector machines."""
