"""Runs audits, machine runs and replays by the hundred, on this machine or on many."""
