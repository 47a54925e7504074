"""Models as files: saved whole, opened without running code, and exported to ONNX."""
