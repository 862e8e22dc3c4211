//! The cluster agent: keeps the tunnel open, guards the lanes, reports on its cluster.
