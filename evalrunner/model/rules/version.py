"""The version of the rules. Not part of their digest, so that a bump does not change what it names."""

RULES_ID = "rules-v1"
"""Stands in receipts. Goes up whenever a rule changes: scores of two versions are not comparable."""
