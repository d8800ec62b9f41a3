"""One iteration of a program, phase by phase: red, green, refactor, commit, evaluation, acceptance."""
