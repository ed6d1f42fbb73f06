//! House laws as a program.
fn main() {}
