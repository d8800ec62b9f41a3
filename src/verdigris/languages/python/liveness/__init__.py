"""Changes the assertions of Python tests so that honest code fails them."""

from __future__ import annotations
