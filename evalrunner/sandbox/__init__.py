"""Isolation of the programs that we run."""
