"""Looking after a cluster: inspect, verify, repair, back up, examine. A library: no typer, no rich, no Spark."""
