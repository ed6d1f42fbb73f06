//! Tests that need the whole program live in `tests/` and `regression/` beside this empty library.
