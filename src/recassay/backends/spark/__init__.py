"""The Spark back end: tables too large for one machine are scored, split and played by the tasks of a cluster."""
