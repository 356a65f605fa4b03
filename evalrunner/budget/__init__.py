"""Prices, reservations and settlements."""
