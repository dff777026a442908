"""What several servers and workers share when the store is PostgreSQL: keys, counters, jobs and their queue."""
