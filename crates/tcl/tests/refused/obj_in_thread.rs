//! A value stays in its thread.
fn main() {
    let value = tcl::Obj::from("x");
    std::thread::spawn(move || value.text());
}
