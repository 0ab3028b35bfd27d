"""Every page in Firefox: it is drawn, live, and nothing goes wrong."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient, NewTopic
from tests.console.asking import Place
from tests.console.firefox import firefox
from tests.console.paths import PATHS

DRAWN = "main .figures, main table, main .empty"


def test_every_page_is_drawn_in_firefox(place: Place) -> None:
    """V1, V4: without a mistake, without a foreign request; and what changes comes by itself."""
    root = f"http://127.0.0.1:{place.port}"
    with firefox() as window:
        for path in PATHS:
            window.open(root + path)
            window.wait_for(DRAWN)
            loaded = window.run("return performance.getEntriesByType('resource').map((each) => each.name)")
            assert [each for each in loaded if not each.startswith(root)] == [], path
            assert window.run("return document.documentElement.scrollWidth <= innerWidth"), path
        window.open(root + "/topics/orders")
        window.wait_for("li[data-partition='0'] svg [data-part=undecided]")
        window.keep("firefox-topic")
        window.open(root + "/topics")
        window.wait_for("tbody tr")
        admin = AdminClient(place.conf)
        admin.create_topics([NewTopic("arrives-in-firefox", 1)])["arrives-in-firefox"].result(20)
        window.wait_for("a[href='/topics/arrives-in-firefox']")
        admin.delete_topics(["arrives-in-firefox"])["arrives-in-firefox"].result(20)
        assert window.wrong == []
        window.run("console.error('a mistake is seen')")
        window.open(root + "/topics")
        assert [each for each in window.wrong if "a mistake is seen" in each]
