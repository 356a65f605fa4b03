"""Pure maths: aggregation, agreement, intervals. Imports no other room."""
