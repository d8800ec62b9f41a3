"""The state file of a program: a view of the log that people may edit."""
