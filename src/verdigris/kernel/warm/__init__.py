"""Resident processes: test tools that stay loaded between runs, for feedback only; verdicts are cold."""
