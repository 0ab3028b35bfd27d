"""Known ways to lose what was acknowledged as rounds in the store, or to go on behind a seal."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

MODEL = "tests/rounds/test_model.py"
SERIES = "tests/rounds/test_series.py"
LOG = "tests/rounds/test_store_log.py"
BACKUP = "tests/operate/test_backup_rounds.py"
FORMAT = "tests/rounds/test_format.py"

_SERIES = "log/rounds/series.py"
_UNDER_WAY = "log/rounds/under_way.py"
_TAKEOVER = "log/rounds/takeover.py"

BUGS = [
    Bug(
        "a round is acknowledged without those below it",
        (
            Edit(
                _UNDER_WAY, "while self.end in self._answered:", "while self.end < max(self._answered, default=-1) + 1:"
            ),
            Edit(_UNDER_WAY, "self._answered.remove(self.end)", "self._answered.discard(self.end)"),
        ),
        (MODEL,),
    ),
    Bug(
        "a seal is put behind the highest number",
        (Edit(_SERIES, "number = _first_absent(numbers, needed_from)", "number = numbers[-1] + 1 if numbers else 0"),),
        (MODEL,),
    ),
    Bug(
        "a sealer searches from the lowest number that it finds",
        (
            Edit(
                _SERIES,
                "number = _first_absent(numbers, needed_from)",
                "number = _first_absent(numbers, numbers[0] if numbers else 0)",
            ),
        ),
        (f"{SERIES}::test_the_search_begins_where_the_newest_round_says",),
    ),
    Bug(
        "a number that is taken counts as our round",
        (
            Edit(
                _SERIES,
                "            if found is not None:\n                raise",
                "            if False:\n                raise",
            ),
        ),
        (MODEL,),
    ),
    Bug(
        "rounds are deleted before it is acknowledged that they are not needed",
        (
            Edit(
                _UNDER_WAY,
                "        self._needed = max(self._needed, number)\n",
                "        self._needed = max(self._needed, number)\n"
                "        if number > self.first:\n            self._due.append((0.0, number))\n",
            ),
        ),
        (MODEL,),
    ),
    Bug(
        "rounds are deleted without the grace",
        (Edit(_UNDER_WAY, "now + 2 * self._grace_s", "now"),),
        (SERIES,),
    ),
    Bug(
        "nobody looks behind the put of a seal",
        (Edit(_SERIES, "self.patience, until, below)", "self.patience, 1e18)"),),
        (SERIES,),
    ),
    Bug(
        "nobody looks at the clock behind the put of a round",
        (
            Edit(
                _SERIES,
                "mine, _stamp_of, self.patience, until)\n            except",
                "mine, _stamp_of, self.patience, 1e18)\n            except",
            ),
        ),
        (SERIES,),
    ),
    Bug(
        "rounds beyond the seal are read",
        (
            Edit(
                _TAKEOVER,
                "            if found.is_seal:\n                return rounds\n",
                "            if found.is_seal and found.header.number == numbers[-1]:\n                return rounds\n",
            ),
        ),
        (MODEL,),
    ),
    Bug(
        "a seal is deleted with its rounds",
        (Edit(_SERIES, "if self.header(number).kind != SEAL:", "if True:"),),
        (SERIES,),
    ),
    Bug(
        "a series is read that is not sealed",
        (
            Edit(_TAKEOVER, "        each.seal(why)\n", "        pass\n"),
            Edit(_TAKEOVER, "    raise SeriesBroken(series.name(numbers[-1] + 1))\n", "    return rounds\n"),
        ),
        (MODEL,),
    ),
    Bug(
        "only the last series is replayed",
        (Edit(_TAKEOVER, "    for each in series:\n        take(", "    for each in series[-1:]:\n        take("),),
        (MODEL,),
    ),
    Bug(
        "manifests are read before the series",
        (
            Edit(
                _TAKEOVER,
                "    for each in series:\n        each.seal",
                "    loaded = load()\n    for each in series:\n        each.seal",
            ),
            Edit(_TAKEOVER, "    return load()\n", "    return loaded\n"),
        ),
        (SERIES,),
    ),
    Bug(
        "a series is forgotten before it is flushed",
        (Edit("log/rounds/places.py", "self._inherited[0].end <= index", "True"),),
        (MODEL,),
    ),
    Bug(
        "a series that was forgotten while it was read is half of it",
        (
            Edit(
                _TAKEOVER,
                "raise SeriesBroken(missing.name) from missing\n        return []\n",
                "raise SeriesBroken(missing.name) from missing\n        return rounds\n",
            ),
        ),
        (f"{SERIES}::test_a_missing_round_is_damage_unless_the_series_is_forgotten",),
    ),
    Bug(
        "a round says that one under way is not needed",
        (Edit(_UNDER_WAY, "return min(self._needed, self.end)", "return self._needed"),),
        (f"{SERIES}::test_no_round_says_that_one_under_way_is_not_needed",),
    ),
    Bug(
        "what a round has of a partition is not held against its crc",
        (Edit("log/rounds/format.py", "len(content) != size or crc32c(content) != crc", "len(content) != size"),),
        (f"{FORMAT}::test_every_wrong_byte_and_every_missing_one_is_seen",),
    ),
    Bug(
        "what the log keeps is purged with the round that has it",
        (Edit("log/rounds/log.py", "            self._is_kept_due |= number > self._kept_round", "            # "),),
        (f"{LOG}::test_what_the_log_keeps_is_always_in_a_round_that_stays",),
    ),
    Bug(
        "a life that was overtaken begins all the same",
        (Edit("log/recovery/begin_rounds.py", "        await calls.run(owner.look)\n", ""),),
        (f"{LOG}::test_a_life_that_is_overtaken_before_its_first_round_never_begins",),
    ),
    Bug(
        "a crash of a life with rounds begins no epoch",
        (Edit("log/recovery/begin_rounds.py", "    elif not is_clean:\n", "    elif False:\n"),),
        (f"{LOG}::test_offsets_that_are_given_again_have_a_higher_epoch",),
    ),
    Bug(
        "a log on disk goes on where one in the store was",
        (
            Edit("log/ownership/owner.py", "if owner is not None and owner.rounds and not take_over:", "if False:"),
            Edit(
                "log/ownership/owner.py",
                "        if (owner is None or owner.rounds) and holds",
                "        if False and holds",
            ),
        ),
        (f"{LOG}::test_a_log_on_disk_and_one_in_the_store_do_not_follow_each_other_by_mistake",),
    ),
    Bug(
        "a log on disk goes on with a backup that has rounds",
        (
            Edit(
                "log/ownership/owner.py",
                "if (owner is None or owner.rounds)",
                "if (owner is not None and owner.rounds)",
            ),
        ),
        (f"{BACKUP}::test_a_backup_has_what_is_only_in_rounds",),
    ),
    Bug(
        "a backup has no rounds",
        (
            Edit(
                "operate/backup/store.py",
                "            self._copy_all([each.name for each in self._source.list(ROUNDS)], self._unless_there)\n",
                "",
            ),
        ),
        (f"{BACKUP}::test_a_backup_has_what_is_only_in_rounds",),
    ),
    Bug(
        "a backup lets go of rounds that its own newest one needs",
        (Edit("operate/backup/store.py", "if is_over or number < needed_from}", "if number >= 0}"),),
        (f"{BACKUP}::test_a_backup_needs_rounds_that_the_store_has_deleted",),
    ),
    Bug(
        "rounds of another cluster are taken for ours",
        (Edit("log/recovery/begin_rounds.py", "    elif kept.identity.cluster != cluster:\n", "    elif False:\n"),),
        (f"{LOG}::test_rounds_may_go_to_a_store_of_their_own",),
    ),
    Bug(
        "entries are told durable when their own round is there",
        (
            Edit(
                "log/rounds/log.py",
                "while self._round_ends and self._round_ends[0][0] < end:",
                "while self._round_ends and self._round_ends[0][0] <= number:",
            ),
        ),
        (f"{LOG}::test_no_ack_overtakes_a_round_below",),
    ),
    Bug(
        "a byte that was misread is the version of a later release",
        (
            Edit(
                "log/rounds/format.py",
                "    if magic != MAGIC:\n",
                "    if version > VERSION:\n        raise NewerFormat(name, version, VERSION)\n"
                "    if magic != MAGIC:\n",
            ),
        ),
        (f"{FORMAT}::test_a_later_version_is_refused",),
    ),
]
