"""Composition: search path, names of panels, validation with all errors at once, and instantiation."""
