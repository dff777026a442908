"""Pages that describe a repository: what kind they are, and which of its names they speak of."""
