"""Agents that lessons, demo and tests share. Each is small, complete and runs without a language model."""
