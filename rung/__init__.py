"""Rung ranks game-playing agents."""

__version__ = "0.1.0"
