//! Programs that must not compile: Tcl's things do not leave their thread, and lent bytes see no handles.
#[test]
fn misuse_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
