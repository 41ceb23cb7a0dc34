"""What a device goes through while no time passes."""
