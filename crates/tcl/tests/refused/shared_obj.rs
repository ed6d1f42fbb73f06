//! A value is not even lent to another thread.
fn main() {
    let value = tcl::Obj::from("x");
    std::thread::scope(|scope| {
        scope.spawn(|| value.text());
    });
}
