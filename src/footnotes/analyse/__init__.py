"""What source code defines, imports and offers: pure functions from a text to names and places."""
