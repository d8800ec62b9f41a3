"""Attacks and cheats, run against the product as it is."""
