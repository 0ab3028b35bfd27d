"""How a connection to a broker is protected: options in Kafka's words, TLS, logins, tokens."""
