"""The room: where a run sees the tree it is asked about, and nothing that it writes has an effect."""
