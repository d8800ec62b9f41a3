"""The machine: tester → implementor → refactorer, each step one commit that the kernel has proven."""
