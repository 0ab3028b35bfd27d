"""Who somebody is and what they may do, as values and pure functions: no sockets, no event loop, no store.

Principals and sessions; secrets that cannot print; Kafka's `.properties` files; TLS contexts from PEM; rules (ACLs) and
the one function that answers every question about them; SCRAM, PLAIN and OAUTHBEARER.
"""
