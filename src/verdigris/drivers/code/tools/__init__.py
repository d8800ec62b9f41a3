"""The tools of a session: their table, their work on the kernel, and the dispatch of calls."""
