//! Sockets, drivers, writers.
