//! Scripts at the turning points of an interpreter's life (`ns_ictl trace`).

use parking_lot::RwLock;
use tcl::Interp;

use super::Context;

/// The turning points, in the order in which an interpreter passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpMoment {
    /// It was made.
    Create,
    /// A request, job or scheduled script begins.
    Allocate,
    /// A request begins; after `Allocate`.
    Getconn,
    /// A request has ended; before `Deallocate`.
    Freeconn,
    /// A request, job or scheduled script has ended.
    Deallocate,
    /// It is about to be deleted.
    Delete,
    /// A thread has nothing to do for the time being.
    Idle,
}

impl InterpMoment {
    /// What was set up last is taken down first.
    fn last_first(self) -> bool {
        matches!(
            self,
            InterpMoment::Freeconn | InterpMoment::Deallocate | InterpMoment::Delete
        )
    }
}

/// The traces of a server. An extension of it.
#[derive(Default)]
pub struct InterpTraces {
    list: RwLock<Vec<(InterpMoment, String)>>,
}

impl InterpTraces {
    pub fn add(&self, moment: InterpMoment, script: String) {
        self.list.write().push((moment, script));
    }

    /// The scripts of a moment, in the order in which they run.
    pub fn of(&self, moment: InterpMoment) -> Vec<String> {
        let mut scripts: Vec<String> = self
            .list
            .read()
            .iter()
            .filter(|(m, _)| *m == moment)
            .map(|(_, s)| s.clone())
            .collect();
        if moment.last_first() {
            scripts.reverse();
        }
        scripts
    }
}

/// Runs the traces of a moment; their failures are logged.
pub fn run_traces(interp: &Interp, context: &Context, moment: InterpMoment) {
    let Some(server) = &context.server else {
        return;
    };
    let Some(traces) = server.extensions.find::<InterpTraces>() else {
        return;
    };
    for script in traces.of(moment) {
        if let Err(e) = interp.eval_global(&script) {
            super::report(
                interp,
                &format!("ns_ictl trace {}", format!("{moment:?}").to_lowercase()),
                e,
            );
        }
    }
}
