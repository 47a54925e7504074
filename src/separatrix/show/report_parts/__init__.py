"""Pieces of the HTML report (row O5): words, the model as a sum, pictures, tables, the what-if panel."""
