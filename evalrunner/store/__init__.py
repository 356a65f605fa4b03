"""The DuckDB store of attempts, receipts and scores."""
