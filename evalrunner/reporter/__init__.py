"""How a receipt is shown. One class an option of the config group `reporter`."""
