"""The receipt: its schema, its fingerprints, reading and writing. Imports no other room."""
