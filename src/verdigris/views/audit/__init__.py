"""Shows what an audit found: for people, for CI, for other tools. Each module is one format of a report."""
