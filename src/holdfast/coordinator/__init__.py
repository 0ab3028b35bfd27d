"""Groups, committed offsets, transactions and producer ids: state machines over internal topics.

The faces are `groups.GroupCoordinator` and `transactions.TransactionCoordinator`. `group`, `consumer_group` and
`transaction_rules` are the rules without any I/O; the files named `…records` are what is stored.
"""
