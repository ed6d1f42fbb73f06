//! An embedded Tcl interpreter behind a safe face.
