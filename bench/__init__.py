"""What the text engine costs: per token, as the text grows, in memory. `python -m bench`."""
