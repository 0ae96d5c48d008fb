"""Slow, plain re-tellings of what other programs compute; none of them imports gbrank."""
