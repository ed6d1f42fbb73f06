//! The words of a command are Tcl's: a copy of the slice cannot be kept.
fn main() {
    let interp = tcl::Interp::create_bare();
    let kept: std::cell::Cell<&'static [tcl::Obj]> = std::cell::Cell::new(&[]);
    interp.register("keep", move |_, words| {
        kept.set(words);
        tcl::ok(())
    });
}
