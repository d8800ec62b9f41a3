"""The branches of a program, here and on the remote: its state file and its work."""
