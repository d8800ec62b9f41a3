"""The machine: tester, implementor, refactorer; each step is one commit that the kernel has proven."""
