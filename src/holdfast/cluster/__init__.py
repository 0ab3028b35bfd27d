"""What a cluster shares, on the object store: topics, configs and whatever else; users and rules apart from them."""
