"""Throwaway and sealed repositories, built and read with hardened plain git."""
