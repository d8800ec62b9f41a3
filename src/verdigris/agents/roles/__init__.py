"""What each role of the machine is shown, and how its answer is read."""
