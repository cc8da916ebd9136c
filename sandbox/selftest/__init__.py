"""The sandbox tried out: images that attack it, and what the judge sees of each attack."""
