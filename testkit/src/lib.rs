//! A server on a free port, raw bytes, Tcl scripts with expectations.
