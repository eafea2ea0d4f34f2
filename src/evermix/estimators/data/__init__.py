"""Rows and times as users give them, checked and prepared."""
