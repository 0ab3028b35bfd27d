"""Every page, on a broker that was seeded."""

from __future__ import annotations

PATHS = (
    *("/", "/topics", "/topics/orders", "/topics/orders/0", "/topics/orders/records", "/topics/orders/0/records/1"),
    *("/timeline?topics=orders", "/groups", "/groups/billing", "/transactions", "/wal", "/store", "/store/objects"),
    *("/topics/orders/0/segments/0", "/subscriptions", "/proof", "/access"),
)
