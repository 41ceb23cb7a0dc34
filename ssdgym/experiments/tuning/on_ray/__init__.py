"""What Ray Tune is given to run a sweep: a cluster, a scheduler, a search and a callback."""
