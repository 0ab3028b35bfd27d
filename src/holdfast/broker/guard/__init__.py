"""Who may do what: the gate that every API asks, the table of rights, users and rules, the audit log."""
