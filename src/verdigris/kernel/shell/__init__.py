"""An agent's shell, confined where it stands: what the phase protects is read-only, all else as it is."""
