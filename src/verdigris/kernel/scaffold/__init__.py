"""A project to begin a kata in: what a language needs, what of it is missing, and how it comes to be."""
