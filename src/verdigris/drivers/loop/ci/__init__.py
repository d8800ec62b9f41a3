"""CI: who accepts a commit besides the kernel, and how a service runs a program."""
