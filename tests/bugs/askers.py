"""Known ways for two readers of one store to say different things of it."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

ASKERS = "tests/spark/test_every_asker_agrees.py::TestEveryAskerAgrees::test_all_say_the_same"

BUGS = [
    Bug(
        "verify skips batch crcs",
        (Edit("segment/verify.py", "                    check_crc(header, batch)\n", ""),),
        (f"{ASKERS}[repair-wrong batch crc]", f"{ASKERS}[backup-wrong batch crc]"),
    ),
    Bug(
        "any version of the cluster's file is believed",
        (Edit("cluster/identity.py", "        if version > VERSION:", "        if False:"),),
        (f"{ASKERS}[log verify-newer cluster]", f"{ASKERS}[spark read-newer cluster]"),
    ),
    Bug(
        "a time that is in a lost segment is not there",
        (
            Edit(
                "spark/source/lookup.py",
                "                manifest = follow(objects, manifest.home, missing).manifest\n",
                "                return None\n",
            ),
        ),
        (f"{ASKERS}[spark lookup-lost segment]",),
    ),
    Bug(
        "a backup says nothing of what is lost",
        (Edit("operate/backup/store.py", "        self._note_lost()\n", ""),),
        (f"{ASKERS}[backup-lost segment]",),
    ),
]
