"""Runs in MLflow, which can neither block a training nor lose what it logged.

The stage's process never imports mlflow. It appends what it logs to a journal on disk (`journal`), and a child process
reads the journal and delivers it in batches (`deliver`). What could not be delivered waits in `.work/outbox`; `make
sync` or the next run delivers it, each value once.
"""

from pipeline.tracking.run import Run, join_run, training_run

__all__ = ["Run", "join_run", "training_run"]
