"""Sources of rows and documents."""
