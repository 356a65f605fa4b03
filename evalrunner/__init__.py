"""evalrunner: YAML declares an evaluation, one pipeline runs it, a receipt proves it."""

__version__ = "0.1.0"
