"""What the program sees of a store, by what it is about. Every method takes the tenant first."""
