"""Pages that describe a repository: their kind, and the names of the repository in them."""
