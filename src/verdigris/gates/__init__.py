"""Gates: what stands in front of a coding agent's tools."""
