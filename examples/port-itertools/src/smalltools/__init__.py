"""Small tools for iterables."""
