"""The command ``separatrix``: from a file to a trusted classifier (row O4). Nothing below imports from here."""
