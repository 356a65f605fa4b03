"""Systems under test: they turn items into outcomes. One class an option of the config group `subject`."""
