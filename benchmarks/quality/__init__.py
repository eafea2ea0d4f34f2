"""How good the clusterings are that evermix and its peers find, against known labels."""
