"""Topic models: chains over the words of documents."""
