"""Agents: the models that play the roles of the machine, and how they are asked."""

from __future__ import annotations
