"""What every server stands on."""
