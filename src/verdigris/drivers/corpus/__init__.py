"""Exports proven changes as a corpus of triples (red test, edit, green test), and replays them."""
