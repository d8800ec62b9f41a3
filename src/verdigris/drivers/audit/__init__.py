"""Says of each change in a range of commits whether it was test-driven, from git's objects alone."""
