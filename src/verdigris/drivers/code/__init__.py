"""`tdd code`: a coding agent whose every write goes through the kernel."""
