"""Bugs in messages that are generated: classes, decoders and encoders."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

GENERATED = "tests/protocol/test_generated.py"
MESSAGES = "tests/protocol/test_messages.py"

BUGS = [
    Bug(
        "classes are edited by hand",
        (
            Edit(
                "protocol/generated/heartbeat.py", "        generation_id: int = 0,", "        generation_id: int = -1,"
            ),
        ),
        (f"{GENERATED}::test_the_classes_are_current",),
    ),
    Bug(
        "a message can be changed",
        (Edit("protocol/message.py", "    __slots__ = ()\n    ROWS", "    ROWS"),),
        (f"{GENERATED}::test_a_message_cannot_be_changed",),
    ),
    Bug(
        "tagged fields are never written",
        (Edit("protocol/schema/encoder.py", "if values[number] not in granted:", "if False:"),),
        (f"{MESSAGES}::test_responses[ApiVersions-4]",),
    ),
    Bug(
        "a null array is an empty one",
        (
            Edit(
                "protocol/schema/encoder.py",
                "if {value} is None: out.append(null)",
                "if {value} is None: out.append(count(()))",
            ),
        ),
        (f"{MESSAGES}::test_requests[Metadata-12]",),
    ),
    Bug(
        "what a version does not have is sent",
        (
            Edit(
                "protocol/schema/encoder.py",
                "for run in runs(each for each in fields if each.is_in(version) and each.tag is None):",
                "for run in runs(each for each in fields if each.tag is None):",
            ),
        ),
        (f"{MESSAGES}::test_responses[Heartbeat-0]",),
    ),
    Bug(
        "a broker's start loads somebody's clients",
        (Edit("protocol/classes.py", "from functools import cache\n", "from functools import cache\nimport kafka\n"),),
        (f"{GENERATED}::test_a_broker_loads_nothing_that_it_does_not_need_to_start",),
    ),
]
