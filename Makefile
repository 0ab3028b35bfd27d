# Holdfast. `make help` lists the targets: one comment line above each says what it does.
.DEFAULT_GOAL := help
.PHONY: help install spark run test test-fast check bench bench-wal bench-log bench-broker bench-subscribe bench-spark bench-operate bench-scale bench-sync bench-cluster bench-first demo crash bugs suites kill sync-torture torture fmt docs docs-site pictures lock clean

BIN := .venv/bin
STAMP := .venv/.holdfast
DATA ?= ./data
LISTEN ?=
CONSOLE ?= 127.0.0.1:9096
METRICS ?= $(if $(LISTEN),,127.0.0.1:9095)
SEEDS ?= 1000
ROUNDS ?= 100
MINUTES ?= 1
SEED ?=
BROKERS ?=
SPARK ?=
SYNC ?=
RECORDS ?= 1000000
TESTS ?=
MEASURE ?=
CODE := src tests benchmarks examples docs .ci hatch_build.py
PYTEST := PYTHONPATH=.ci CONSOLE_SHOTS=build/console $(BIN)/pytest -p measured -n 2 --dist loadfile --no-loadscope-reorder
# Only a run of tests has to know, and once.
TOOLS := $(if $(filter test,$(MAKECMDGOALS)),$(shell .ci/tools-for $(TESTS)))
# Where there is none, PySpark would only take room.
JVM := $(shell command -v java)

# help: list the targets
help:
	@echo "Holdfast: make <target>"
	@sed -nE 's/^# ([a-z-]+): (.*)$$/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 19

# install: make .venv and put everything pinned into it; nothing outside the checkout, and no work twice
install: $(STAMP)-run $(STAMP)-dev

# spark: put what the pipelines need into .venv, too; a JDK has to be there for what is large
spark: $(STAMP)-spark

# run: start a broker on ./data at 127.0.0.1:9092, its console at 127.0.0.1:9096, or elsewhere with DATA=, LISTEN=, CONSOLE= and METRICS=
run: $(STAMP)-run
	$(BIN)/holdfast serve --data $(DATA) --console $(CONSOLE)$(if $(LISTEN), --listen $(LISTEN))$(if $(METRICS), --metrics $(METRICS))

# test: run all tests, or some of them with TESTS=, and install the tools that these need
test: install $(if $(and $(JVM),$(filter spark,$(TOOLS))),$(STAMP)-spark)
	@for tool in $(filter-out spark,$(TOOLS)); do .ci/install-$$tool || exit 1; done
	@$(PYTEST) -p allowed_skips --allowed-skips .ci/allowed-skips.txt $(if $(MEASURE),--measure) $(TESTS)

# test-fast: run what takes no time and needs no foreign tool, in less than three minutes
test-fast: install
	@$(PYTEST) -q -m "not long and not slow and not s3" $$(.ci/tools-for --without)

# check: style, types, import layers, and no registry host in the repository
check: install $(STAMP)-spark
	$(BIN)/ruff check $(wildcard $(CODE))
	$(BIN)/ruff format --check $(wildcard $(CODE))
	$(BIN)/mypy
	$(BIN)/lint-imports
	.ci/check-hosts

# bench: run all benchmarks on a quiet machine, and write docs/benchmarks.md; a first look with BENCH=quick
bench: install $(if $(JVM),$(STAMP)-spark)
	@.ci/install-versitygw
	@.ci/install-java-clients
	@benchmarks/sync/install-mirror-maker
	@.ci/run-if-there benchmarks/run.py $(if $(filter quick,$(BENCH)),--quick)

# bench-wal: measure the write-ahead log against raft-log (when cargo is there) and the raw disk
bench-wal: install
	@.ci/run-if-there benchmarks/wal/run.py
	@$(BIN)/python docs/tools/bench_page.py

# bench-log: measure the partition log against the raw disk
bench-log: install
	@.ci/run-if-there benchmarks/log/run.py
	@$(BIN)/python docs/tools/bench_page.py

# bench-broker: measure the broker beside Apache Kafka (when a JDK and Maven are there); less of it with BENCH=quick
bench-broker: install
	@.ci/install-java-clients
	@.ci/run-if-there benchmarks/broker/run.py $(if $(filter quick,$(BENCH)),--quick)
	@$(BIN)/python docs/tools/bench_page.py

# bench-subscribe: measure subscriptions: simulated costs, events on disk and on S3, live latency
bench-subscribe: install
	@.ci/install-versitygw
	@.ci/run-if-there benchmarks/subscribe/run.py
	@$(BIN)/python docs/tools/bench_page.py

# bench-spark: measure Spark on stored topics beside its Kafka connector and Parquet, or fewer rows with ROWS=
bench-spark: install $(STAMP)-spark
	@.ci/install-java-clients
	@.ci/run-if-there benchmarks/spark/run.py $(if $(ROWS),--rows $(ROWS))
	@$(BIN)/python docs/tools/bench_page.py

# bench-operate: measure a broker with 2,000 partitions, idle and loaded, and how long it takes to recover
bench-operate: install
	@.ci/run-if-there benchmarks/operate/run.py
	@$(BIN)/python docs/tools/bench_page.py

# bench-scale: measure how cost grows with partitions, connections, stored records and groups
bench-scale: install
	@.ci/run-if-there benchmarks/scale/run.py
	@$(BIN)/python docs/tools/bench_page.py

# bench-sync: copies between clusters, beside MirrorMaker 2; RECORDS= of each size
bench-sync: install
	@.ci/install-java-clients
	@benchmarks/sync/install-mirror-maker
	@.ci/run-if-there benchmarks/sync/run.py --records $(RECORDS)
	@$(BIN)/python docs/tools/bench_page.py

# bench-cluster: several brokers on one S3 server at 0 to 40 ms: acks, takeovers, hand-overs, cost, workers; less with BENCH=quick
bench-cluster: install
	@.ci/install-versitygw
	@.ci/install-java-clients
	@.ci/run-if-there benchmarks/cluster/run.py $(if $(filter quick,$(BENCH)),--quick)
	@$(BIN)/python docs/tools/bench_page.py

# bench-first: what a newcomer waits for: set-up, starts, the first ack, the fixture, the demo, and sizes; less with BENCH=quick
bench-first: install $(if $(JVM),$(STAMP)-spark)
	@.ci/run-if-there benchmarks/first/run.py $(if $(filter quick,$(BENCH)),--quick)
	@$(BIN)/python docs/tools/bench_page.py

# demo: kill a broker under a million events, and check every one of them; fewer with EVENTS=
demo: $(STAMP)-dev $(if $(JVM),$(STAMP)-spark)
	@$(BIN)/holdfast demo $(if $(EVENTS),--events $(EVENTS))

# crash: search for crashes that lose data, over as many seeds as SEEDS= says
crash: install
	@.ci/run-if-there tests/wal/crash_search.py --seeds $(SEEDS)
	@.ci/run-if-there tests/sim/search.py --seeds $(SEEDS)
	@.ci/run-if-there tests/rounds/search.py --seeds $(SEEDS)

# bugs: put each known bug into a copy of the code in turn, and show that a test fails
bugs: install
	@.ci/run-if-there tests/bugs/run.py

# suites: run librdkafka's own tests against Holdfast and against Apache Kafka side by side, in about half an hour
suites: install
	@.ci/install-java-clients
	@.ci/run-if-there tests/suites/librdkafka.py

# kill: kill the broker under load again and again, as often as ROUNDS= says, and count everything
kill: install
	@.ci/run-if-there tests/kill/rounds.py --rounds $(ROUNDS)

# sync-torture: write RECORDS= records to two clusters while sync and both are killed, and compare everything
sync-torture: install
	@.ci/run-if-there tests/sync/long.py --records $(RECORDS)

# torture: disturb a loaded broker, or BROKERS=3, in every way for MINUTES=, by a schedule that SEED= repeats, and check all; SPARK=1 SYNC=1 add those
torture: install $(if $(JVM),$(STAMP)-spark)
	@$(if $(BROKERS),.ci/install-versitygw)
	@.ci/run-if-there tests/torture/run.py --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(BROKERS),--brokers $(BROKERS)) \
		$(if $(SPARK),$(if $(filter 0,$(SPARK)),--no-spark,--spark)) $(if $(SYNC),$(if $(filter 0,$(SYNC)),--no-sync,--sync))

# fmt: format the code and repair what can be repaired without thinking
fmt: install
	$(BIN)/ruff format $(wildcard $(CODE))
	$(BIN)/ruff check --fix $(wildcard $(CODE))

# docs: write the generated reference pages again
docs: install
	@$(BIN)/python docs/tools/reference.py
	@$(BIN)/python docs/tools/kafka_apis.py
	@$(BIN)/python docs/tools/metrics.py
	@$(BIN)/python docs/tools/subscribe_proto.py
	@$(BIN)/python docs/tools/console.py
	@$(BIN)/python docs/tools/guarantees.py
	@$(BIN)/python docs/tools/bench_page.py

# docs-site: build all pages as a site that works offline, into build/site/html
docs-site: install
	@$(BIN)/python docs/tools/site.py

# pictures: make the README's pictures of the console again, in about a minute
pictures: install
	@.ci/install-chromium
	@.ci/run-if-there tests/console/pictures.py

# lock: compile requirements/*.in again into pinned and hashed requirements/*.txt
lock: $(STAMP)-tools
	@for set in install run base fast spark dev faust; do .ci/compile-requirements $$set; done

# clean: remove everything that can be made again, but never ./data
clean:
	rm -rf .venv .tools build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is younger than what it was made from, so an unchanged set is not installed again.
$(STAMP)-tools: requirements/install.txt .ci/make-venv
	@.ci/make-venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/install.txt
	@touch $@

$(STAMP)-run: $(STAMP)-tools requirements/run.txt pyproject.toml hatch_build.py $(wildcard src/holdfast/native/source/*)
	@echo "Installing what the broker needs: a quarter of a minute or so, more on a busy machine …" >&2
	@$(BIN)/uv pip install -q --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/run.txt
	@$(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src # A start must not compile, also where Python may not write what it compiled.
	@$(BIN)/python -c 'from holdfast.native import kernels; exit(kernels is None)' || $(MAKE) -s $(STAMP)-fast
	@touch $@

# Without a C compiler numba does it: 210 MB more.
$(STAMP)-fast: requirements/fast.txt
	@$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements/fast.txt
	@$(BIN)/python -m holdfast.record.warm
	@$(BIN)/python -m holdfast.segment.warm
	@$(BIN)/python -m holdfast.subscribe.warm
	@$(BIN)/python -m holdfast.sync.warm
	@touch $@

$(STAMP)-dev: $(STAMP)-run requirements/dev.txt
	@echo "Installing what the tests need …" >&2
	@$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@touch $@

$(STAMP)-spark: $(STAMP)-dev requirements/spark.txt
	@echo "Installing PySpark and what goes with it: half a minute or so, more on a busy machine …" >&2
	@$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements/spark.txt
	@touch $@
