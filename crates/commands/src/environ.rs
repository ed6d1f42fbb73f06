//! The environment of the process.

use synopsis::{Call, commands};
use tcl::{Exit, Obj};

commands! { TABLE(call):

    /// Whether a variable is set.
    #[family("/subcommand/ ?/arg .../?")]
    "ns_env exists" (name: String)
        => get(call, &name).is_some();

    /// The names of the variables.
    "ns_env names" ()
        => call.interp.call(&["::array", "names", "::env"].map(Obj::from));

    /// The value of a variable.
    "ns_env get" [-nocomplain: bool, --] (name: String)
        => found(&name, get(call, &name), nocomplain);

    /// Sets a variable.
    "ns_env set" (name: String, value: Obj)
        => call.interp.set_global(&element(&name), value);

    /// Removes a variable.
    "ns_env unset" [-nocomplain: bool, --] (name: String)
        => unset(call, &name, nocomplain);
}

/// Tcl keeps its array and the environment of the C library in step, under a lock that its threads share.
fn element(name: &str) -> String {
    format!("::env({name})")
}

fn get(call: &Call<'_>, name: &str) -> Option<Obj> {
    call.interp.get_global(&element(name))
}

fn found(name: &str, value: Option<Obj>, nocomplain: bool) -> Result<Option<Obj>, Exit> {
    match value {
        None if !nocomplain => Err(tcl::error(format!("no such environment variable: {name}"))),
        value => Ok(value),
    }
}

fn unset(call: &Call<'_>, name: &str, nocomplain: bool) -> Result<(), Exit> {
    found(name, get(call, name), nocomplain)?;
    call.interp.unset_global(&element(name));
    Ok(())
}
