"""The commands: each is parsed, called, its result rendered, and its exit code given."""
