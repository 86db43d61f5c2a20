"""Whether a candidate is better than the champion, on the same utterances."""
