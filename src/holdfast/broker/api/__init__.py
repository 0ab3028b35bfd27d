"""One file per Kafka API, or per few that belong together."""
