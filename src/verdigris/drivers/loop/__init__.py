"""`tdd loop`: programs that pin one behaviour an iteration, and stop when they are stuck."""
