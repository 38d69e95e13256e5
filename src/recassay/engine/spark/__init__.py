"""Tables that outgrow one machine: the same parts are judged, split and played by the tasks of a Spark cluster."""
