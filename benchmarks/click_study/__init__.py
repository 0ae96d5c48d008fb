"""Clicks with positions: what estimators, corrected labels and learned bias are worth."""
