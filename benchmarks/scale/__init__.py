"""How cost grows: with partitions, connections, stored records and groups; and Python beside Python."""
