"""Kafka's wire messages: bytes in and values out, no sockets.

api       the one table: which APIs there are, in which versions
header    the headers of requests and responses, and framing
hot       Produce, Fetch and Metadata by hand: batches stay where they were received, and go out as they lie
messages  everything else: classes generated from Kafka's schemas (`generated`), read and written by functions that
          `schema` makes from what the classes say of their fields (`message`)
"""
