//! Finds the Tcl library to link: `TCL_CONFIG` names a tclConfig.sh, else the system's 8.6 is taken.
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=TCL_CONFIG");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(tcl9)");

    let config = find_config();
    println!("cargo::rerun-if-changed={}", config.display());
    // tclConfig.sh is shell code (values may name other values), so a shell reads it.
    let script = r#". "$1" && printf '%s\n' "$TCL_VERSION" "$TCL_PATCH_LEVEL" "$TCL_LIB_SPEC" "$TCL_INCLUDE_SPEC""#;
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(&config)
        .output()
        .expect("sh runs");
    assert!(output.status.success(), "cannot read {}", config.display());
    let text = String::from_utf8(output.stdout).expect("tclConfig.sh is text");
    let mut lines = text.lines();
    let version = lines.next().unwrap_or_default().to_string();
    let _patch_level = lines.next();
    let libraries = lines.next().unwrap_or_default();
    let includes = lines.next().unwrap_or_default();
    match version.as_str() {
        "8.6" => {}
        "9.0" => println!("cargo::rustc-cfg=tcl9"),
        other => panic!(
            "{} is for Tcl {other}; 8.6 and 9.0 are supported",
            config.display()
        ),
    }

    let mut directories = Vec::new();
    for word in libraries.split_whitespace() {
        if let Some(directory) = word.strip_prefix("-L") {
            println!("cargo::rustc-link-search=native={directory}");
            directories.push(directory.to_string());
        } else if let Some(name) = word.strip_prefix("-l") {
            println!("cargo::rustc-link-lib=dylib={name}");
        }
    }
    // A directory the loader does not search by itself has to be written into the programs: into this package's tests
    // here, into the server by its own build script, which reads the value as DEP_TCL_RPATH.
    for directory in directories
        .iter()
        .filter(|directory| !is_standard(Path::new(directory)))
    {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{directory}");
        println!("cargo::metadata=rpath={directory}");
    }
    println!("cargo::metadata=version={version}");
    println!("cargo::metadata=config={}", config.display());
    // The layout test compiles a C file with the same headers.
    println!("cargo::rustc-env=NAVIS_TCL_INCLUDES={includes}");
}

fn find_config() -> PathBuf {
    if let Some(path) = std::env::var_os("TCL_CONFIG").filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        assert!(
            path.is_file(),
            "TCL_CONFIG names no file: {}",
            path.display()
        );
        return path;
    }
    let mut candidates = vec![PathBuf::from("/usr/lib/tcl8.6/tclConfig.sh")];
    if let Ok(directories) = std::fs::read_dir("/usr/lib") {
        candidates.extend(
            directories
                .flatten()
                .map(|entry| entry.path().join("tcl8.6/tclConfig.sh")),
        );
    }
    candidates.extend(
        [
            "/usr/lib64/tclConfig.sh",
            "/usr/lib/tclConfig.sh",
            "/usr/local/lib/tclConfig.sh",
        ]
        .map(PathBuf::from),
    );
    candidates
        .into_iter()
        .find(|path| path.is_file())
        .expect("no tclConfig.sh found: run scripts/install-build-deps, or set TCL_CONFIG")
}

fn is_standard(directory: &Path) -> bool {
    let parent = directory.parent().unwrap_or(Path::new("/"));
    ["/lib", "/usr/lib", "/lib64", "/usr/lib64"]
        .iter()
        .any(|standard| directory == Path::new(standard) || parent == Path::new(standard))
}
