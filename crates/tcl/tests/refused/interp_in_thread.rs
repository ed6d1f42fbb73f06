//! An interpreter stays in its thread.
fn main() {
    let interp = tcl::Interp::create_bare();
    std::thread::spawn(move || interp.eval("expr 1").is_ok());
}
