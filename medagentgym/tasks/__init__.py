"""Tasks: sets of questions on one data set each, and how attempts at them are judged."""
