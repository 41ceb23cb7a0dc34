"""What episodes are made of: the devices, and the requests that they are given."""
