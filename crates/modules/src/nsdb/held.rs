//! The database handles an interpreter holds: `nsdb0`, `nsdb1`, ... They go back to their pools at the latest when the
//! request or script is over.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use synopsis::{Call, FromObj, Kind, Label};
use tcl::{Exit, Interp, Obj};

use super::driver::{Failure, Session};
use super::pool::{Loan, add_micros};
use super::severity;

/// One handle.
pub struct Handle {
    pub loan: Loan,
    /// The last failure, or what a script put there.
    pub exception: Failure,
    /// A query was run, and the end of its rows was not seen.
    pub active: bool,
    /// Statements are logged.
    pub verbose: bool,
}

impl Handle {
    /// Runs one operation on the connection, opened anew if it was closed: counts, logs, and remembers what went wrong.
    ///
    /// # Errors
    /// The failure as a Tcl error that names the operation.
    pub fn perform<R>(
        &mut self,
        operation: &str,
        sql: Option<&str>,
        work: impl FnOnce(&mut dyn Session) -> Result<R, Failure>,
    ) -> Result<R, Exit> {
        let began = Instant::now();
        let not_open = || Failure::new("08003", "not connected");
        let result = self
            .loan
            .connect()
            .and_then(|()| self.loan.session().ok_or_else(not_open).and_then(work));
        if let Some(sql) = sql {
            self.account(sql, began);
        }
        result.map_err(|failure| self.fail(operation, sql, failure))
    }

    fn account(&self, sql: &str, began: Instant) {
        let pool = &self.loan.pool;
        let time = began.elapsed();
        pool.stats.statements.fetch_add(1, Ordering::Relaxed);
        add_micros(&pool.stats.sql_time, time);
        let log = severity();
        if !(self.verbose || log.is_enabled()) {
            return;
        }
        let least = pool.log_min_duration.load(Ordering::Relaxed);
        if i64::try_from(time.as_micros()).unwrap_or(i64::MAX) < least {
            return;
        }
        let severity = if self.verbose {
            shared::log::NOTICE
        } else {
            log
        };
        let text = format_args!(
            "pool {} duration {:.6} secs: '{sql}'",
            pool.plan.name,
            time.as_secs_f64()
        );
        shared::log::write(severity, text);
    }

    /// Notes a failure and makes the Tcl error of it.
    pub fn fail(&mut self, operation: &str, sql: Option<&str>, failure: Failure) -> Exit {
        self.active = false;
        let plan = &self.loan.pool.plan;
        if plan.log_sql_errors {
            let sql = sql.map(|s| format!("; SQL: {s}")).unwrap_or_default();
            shared::error!(
                "pool {}: {operation} failed ({}): {}{sql}",
                plan.name,
                failure.code,
                failure.message
            );
        }
        let text = format!(
            "Database operation \"{operation}\" failed (exception {}, \"{}\")",
            failure.code, failure.message
        );
        self.exception = failure;
        tcl::error(text)
    }
}

/// All handles of an interpreter. Data of the interpreter: they go back when it is deleted, too.
#[derive(Default)]
pub struct Handles {
    map: RefCell<BTreeMap<u64, Rc<RefCell<Handle>>>>,
}

impl Handles {
    /// The handles of an interpreter.
    pub fn of(interp: &Interp) -> Rc<Handles> {
        interp.data::<Handles>().unwrap_or_else(|| {
            let fresh = Rc::new(Handles::default());
            interp.set_data(Rc::clone(&fresh));
            fresh
        })
    }

    /// Takes a handle in and gives its name, the lowest free number.
    pub fn enter(&self, loan: Loan) -> String {
        let mut map = self.map.borrow_mut();
        let number = (0..)
            .zip(map.keys())
            .find(|(i, k)| i != *k)
            .map_or(map.len() as u64, |(i, _)| i);
        let verbose = loan.pool.verbose.load(Ordering::Relaxed);
        let handle = Handle {
            loan,
            exception: Failure::default(),
            active: false,
            verbose,
        };
        map.insert(number, Rc::new(RefCell::new(handle)));
        format!("nsdb{number}")
    }

    pub fn get(&self, name: &str) -> Option<Rc<RefCell<Handle>>> {
        self.map.borrow().get(&number(name)?).cloned()
    }

    /// Gives a handle back.
    pub fn release(&self, name: &str) {
        let gone = number(name).and_then(|n| self.map.borrow_mut().remove(&n));
        drop(gone);
    }

    /// Gives all handles back.
    pub fn release_all(&self) {
        let gone = std::mem::take(&mut *self.map.borrow_mut());
        drop(gone);
    }

    /// Names and handles, in the order of the names.
    pub fn list(&self) -> Vec<(String, Rc<RefCell<Handle>>)> {
        self.map
            .borrow()
            .iter()
            .map(|(n, h)| (format!("nsdb{n}"), Rc::clone(h)))
            .collect()
    }
}

fn number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("nsdb")?;
    let canonical = digits == "0" || !digits.starts_with('0');
    let plain = canonical && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

/// A handle by its name.
pub struct HandleArg {
    pub name: String,
    pub handle: Rc<RefCell<Handle>>,
}

impl FromObj for HandleArg {
    const KIND: Kind = Kind::Value("handle");

    fn from_obj(call: &Call<'_>, _label: Label, value: &Obj) -> Result<HandleArg, Exit> {
        let name = value.text();
        match Handles::of(call.interp).get(&name) {
            Some(handle) => Ok(HandleArg { name, handle }),
            None => Err(tcl::error(format!("invalid database id:  \"{name}\""))),
        }
    }
}
