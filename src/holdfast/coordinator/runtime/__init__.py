"""What all coordinators stand on: internal partitions, records that outlive a crash, deadlines."""
