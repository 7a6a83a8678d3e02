"""Rendering: findings as charts, figures, plain text and an HTML page."""
