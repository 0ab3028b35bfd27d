"""The demo: a broker is killed under load, and everything that it promised is checked. The command is `holdfast demo`.

    events        the events, all of them known before they are written
    ledger        where each one is, as the broker has acknowledged it
    account       what a reader got, held against the ledger
    stage         the brokers, their directories and the ledger of one run; gone when it ends
    producing     a real Kafka client writes, while the broker is killed and started again
    reading       a real Kafka client reads
    steps         the steps in their order; pipelines, subscription and copying are the longer ones
    story         the steps carried out one after the other, and what came of them
    page, plots   the report

Nothing is simulated, and nothing is taken from an earlier run: what the table says was counted just now.
"""
