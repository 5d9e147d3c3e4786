"""Programs that agents write as answers: where they go, how they run apart from what judges them, and what crosses between the two."""
