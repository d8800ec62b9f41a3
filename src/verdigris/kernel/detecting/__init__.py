"""What a project is, found by looking: one file for each kind of stack."""
