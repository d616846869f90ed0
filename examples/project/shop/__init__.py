"""A shop that forgets discounts and waits for a warehouse that never answers."""
