//! Lent bytes end with the closure.
fn main() {
    let value = tcl::Obj::bytes(b"x");
    let _kept: &[u8] = value.with_bytes(|bytes| bytes);
}
