"""Tables and text as people have them: files in, kinds of columns, and the matrix each model wants (rows T1–T3)."""
