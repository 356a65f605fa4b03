"""Every model call goes through here: limits, retries, budget, journal."""
