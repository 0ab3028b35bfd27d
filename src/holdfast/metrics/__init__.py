"""What an operator looks at: metrics.

catalog   every metric: its name, its labels, what it says
collect   what the parts of a running broker say now, as samples of these metrics
endpoint  the port that a Prometheus server scrapes
"""
