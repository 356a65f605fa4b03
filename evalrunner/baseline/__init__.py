"""Baselines: committed options that pin a run and hold its figures. docs/baselines.md explains them."""
