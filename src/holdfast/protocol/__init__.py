"""Kafka's wire messages: bytes in and values out, no sockets.

api       the one table: which APIs there are, in which versions
header    the headers of requests and responses, and framing
produce   the hot request, by hand: batches stay where they were received
fetch     the other hot one, by hand: batches go out as the views they came in (`fetch_response`)
metadata  answers put together from topics that are kept as bytes
messages  everything else: classes generated from Kafka's schemas (`generated`), read and written by functions that
          `decoder` and `encoder` make from what the classes say of their fields (`message`)
"""
