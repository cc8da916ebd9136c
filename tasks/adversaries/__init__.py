"""Models that know no chemistry and read the answer from the question: none may get below a task's baseline."""
