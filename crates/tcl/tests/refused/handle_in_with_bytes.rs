//! While bytes are lent nobody may convert the value.
fn main() {
    let value = tcl::Obj::bytes(b"x");
    let other = value.clone();
    value.with_bytes(|bytes| (bytes.len(), other.int().is_ok()));
}
