//! Writes the directory of a Tcl library outside the system's path into the program.
fn main() {
    println!("cargo::rerun-if-env-changed=DEP_TCL_RPATH");
    if let Ok(directory) = std::env::var("DEP_TCL_RPATH") {
        println!("cargo::rustc-link-arg-bins=-Wl,-rpath,{directory}");
    }
}
