//! Structures and constants as the C headers of the Tcl at hand have them.
use std::process::Command;

#[path = "../src/sys/mod.rs"]
#[allow(dead_code)]
mod sys;

macro_rules! layouts {
    ($($kind:ident { $($field:ident),* })*) => {{
        let mut rows: Vec<(String, usize)> = Vec::new();
        $(
            rows.push((format!("sizeof({})", stringify!($kind)), size_of::<sys::$kind>()));
            $(
                rows.push((
                    format!("offsetof({}, {})", stringify!($kind), stringify!($field)),
                    std::mem::offset_of!(sys::$kind, $field),
                ));
            )*
        )*
        rows
    }};
}

macro_rules! constants {
    ($($name:ident)*) => { vec![$((stringify!($name).to_owned(), sys::$name as usize)),*] };
}

#[test]
fn layouts_and_constants_are_those_of_the_headers() {
    let mut rows = layouts! {
        Tcl_Obj { refCount, bytes, length, typePtr, internalRep }
        Tcl_ChannelType { typeName, version, closeProc, inputProc, outputProc, seekProc, setOptionProc, getOptionProc,
            watchProc, getHandleProc, close2Proc, blockModeProc, flushProc, handlerProc, wideSeekProc,
            threadActionProc, truncateProc }
        Tcl_DString { string, length, spaceAvl, staticSpace }
        Tcl_Size {}
        Tcl_WideInt {}
        Tcl_DictSearch { next, epoch, dictionaryPtr }
    };
    for (what, value) in [
        (
            "offsetof(Tcl_Namespace, name)",
            std::mem::offset_of!(sys::Tcl_Namespace, name),
        ),
        (
            "offsetof(Tcl_Namespace, fullName)",
            std::mem::offset_of!(sys::Tcl_Namespace, fullName),
        ),
        (
            "offsetof(Tcl_ObjType, name)",
            std::mem::offset_of!(sys::Tcl_ObjType, name),
        ),
    ] {
        rows.push((what.to_owned(), value));
    }
    rows.extend(constants! {
        TCL_OK TCL_ERROR TCL_RETURN TCL_BREAK TCL_CONTINUE TCL_GLOBAL_ONLY TCL_NAMESPACE_ONLY TCL_LEAVE_ERR_MSG
        TCL_EVAL_GLOBAL TCL_CANCEL_UNWIND TCL_SUBST_COMMANDS TCL_SUBST_VARIABLES TCL_SUBST_BACKSLASHES TCL_READABLE
        TCL_WRITABLE TCL_STDIN TCL_STDOUT TCL_STDERR TCL_CLOSE_READ TCL_CLOSE_WRITE TCL_DONT_WAIT TCL_FILE_EVENTS
        TCL_TIMER_EVENTS TCL_IDLE_EVENTS TCL_ALL_EVENTS TCL_MODE_NONBLOCKING TCL_CHANNEL_VERSION_5 TCL_CLOSE2PROC
    });
    let mut program = String::from("#include <tcl.h>\n#include <stddef.h>\n#include <stdio.h>\n");
    // The header of 8.6 has no name for its sizes.
    program.push_str("#if TCL_MAJOR_VERSION < 9\n#define Tcl_Size int\n#endif\nint main(void) {\n");
    for (what, _) in &rows {
        program.push_str(&format!("  printf(\"%zu\\n\", (size_t)({what}));\n"));
    }
    program.push_str("  return 0;\n}\n");
    let directory = tempfile::tempdir().unwrap();
    let (source, binary) = (
        directory.path().join("layout.c"),
        directory.path().join("layout"),
    );
    std::fs::write(&source, program).unwrap();
    let compiled = Command::new("cc")
        .args(env!("NAVIS_TCL_INCLUDES").split_whitespace())
        .arg(&source)
        .arg("-o")
        .arg(&binary)
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let output = Command::new(&binary).output().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<usize> = answers.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(answers.len(), rows.len());
    for ((what, ours), theirs) in rows.iter().zip(answers) {
        assert_eq!(*ours, theirs, "{what}");
    }
}
