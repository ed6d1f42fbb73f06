//! A callback with its server: run on whatever thread its time comes, by schedules and hooks.

use std::sync::Arc;

use ::server::script;
use ::server::vserver::VirtualServer;
use synopsis::{Call, Rest};
use tcl::{Exit, Interp, Obj, Outcome};

use crate::callback::Callback;
use crate::kinds::context;

/// A script that is evaluated without a connection, in an interpreter of the server it was registered in.
#[derive(Clone)]
pub struct Later {
    server: Arc<VirtualServer>,
    callback: Callback,
}

impl Later {
    /// A script with the words behind it in the registering command.
    pub fn new(call: &Call<'_>, script: &Obj, args: Option<Rest<'_>>) -> Later {
        let args = args.as_ref().map_or(&[][..], |rest| rest.0);
        Later {
            server: Arc::clone(context(call).server()),
            callback: Callback::new(script.text(), args),
        }
    }

    /// The script with its arguments, as it is evaluated.
    pub fn text(&self) -> String {
        let mut text = self.callback.script().to_owned();
        for arg in self.callback.args() {
            text.push(' ');
            text.push_str(&tcl::list_format(&[arg]));
        }
        text
    }

    /// Runs it; how it failed is logged with `what` in front.
    pub fn run(&self, what: &str) {
        let work = |interp: &Interp, _: &_| -> Outcome<()> {
            if let Err(exit) = self.callback.run(interp, &[], &[]) {
                script::report(interp, what, exit);
            }
            Ok(())
        };
        if let Err(Exit::Error(e)) = script::with_interp(&self.server, work) {
            shared::error!("{what}: no interpreter: {}", e.message());
        }
    }
}
