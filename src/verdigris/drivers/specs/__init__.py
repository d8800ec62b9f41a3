"""Specs: reads the formats that teams use, checks them, and replaces one by its next version."""
