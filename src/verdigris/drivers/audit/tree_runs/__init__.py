"""Runs the tests of a commit's tree: its settings, environment and suite, and results of earlier trees."""
