//! ns_db and what asks about pools and handles.

use std::cell::RefMut;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use server::script::{Context, SetRef};
use shared::Set;
use synopsis::{Call, FromObj, Int, Interval, Kind, Label, Time, choice, commands};
use tcl::{Exit, Obj, Outcome, TclError};

use super::Database;
use super::driver::{Failure, Session, Shape, Want};
use super::held::{Handle, HandleArg, Handles};
use super::pool::{Patience, Pool, Refused};

choice! {
    /// Direction of a parameter of a stored procedure.
    pub enum Direction { In = "in", Out = "out" }
}

commands! { TABLE(call):

    /// The only row of a query as a new set; empty without a row.
    #[family("/subcommand/ ?/arg .../?")]
    "ns_db 0or1row" (handle: HandleArg, sql: String)
        => one_row(call, &handle, "0or1row", &sql, false);

    /// The only row of a query as a new set.
    "ns_db 1row" (handle: HandleArg, sql: String)
        => one_row(call, &handle, "1row", &sql, true);

    /// A set for the rows of the query that `ns_db exec` ran.
    "ns_db bindrow" (handle: HandleArg)
        => bind_row(call, &handle);

    /// Closes all connections of a pool as soon as they are not in use.
    "ns_db bouncepool" (poolname: String)
        => allowed(call, &poolname).map(|p| p.bounce());

    /// Stops the current operation.
    "ns_db cancel" (handle: HandleArg)
        => quiet(&handle, |s| s.cancel());

    /// Whether the handle's connection is open.
    "ns_db connected" (handle: HandleArg)
        => handle.handle.borrow().loan.is_connected();

    /// The handles of this interpreter by pool, with their state.
    "ns_db currenthandles"
        => current_handles(call);

    /// The data source of the handle's pool.
    "ns_db datasource" (handle: HandleArg)
        => handle.handle.borrow().loan.pool.plan.source.datasource.as_str();

    /// The kind of database.
    "ns_db dbtype" (handle: HandleArg)
        => handle.handle.borrow().loan.pool.plan.driver.kind();

    /// Closes the handle's connection; the next operation opens a new one.
    "ns_db disconnect" (handle: HandleArg)
        => handle.handle.borrow_mut().loan.disconnect();

    /// Executes a statement that returns no rows.
    "ns_db dml" (handle: HandleArg, sql: String)
        => execute(&handle, "dml", &sql, Want::Nothing).map(drop);

    /// The driver's name in the configuration.
    "ns_db driver" (handle: HandleArg)
        => handle.handle.borrow().loan.pool.plan.driver_name.as_str();

    /// Code and text of the last failure.
    "ns_db exception" (handle: HandleArg)
        => exception(&handle);

    /// Executes any statement: NS_ROWS or NS_DML.
    "ns_db exec" (handle: HandleArg, sql: String)
        => execute(&handle, "exec", &sql, Want::Either).map(shape_word);

    /// Throws away the rows not fetched yet.
    "ns_db flush" (handle: HandleArg)
        => quiet(&handle, |s| s.flush());

    /// Handles from a pool, all or none.
    "ns_db gethandle" [-timeout: Time = Time::ZERO, --] (poolname: Option<String>, nhandles: Option<Int<1>>)
        => get_handle(call, timeout, poolname, nhandles.map_or(1, Int::as_usize));

    /// Fetches the next row into the set; false behind the last one.
    "ns_db getrow" (handle: HandleArg, set as "setId": SetId)
        => get_row(&handle, &set.0);

    /// What the handle is connected to.
    "ns_db info" (handle: HandleArg)
        => info(&handle);

    /// Executes all statements of a file.
    "ns_db interpretsqlfile" (handle: HandleArg, sqlfile: String)
        => interpret_file(&handle, &sqlfile);

    /// Statements that take less time are not logged.
    "ns_db logminduration" (poolname: Option<String>, minduration: Option<Interval>)
        => log_min_duration(call, poolname, minduration);

    /// The password of the handle's pool.
    "ns_db password" (handle: HandleArg)
        => handle.handle.borrow().loan.pool.plan.source.password.as_str();

    /// The pool of a handle.
    "ns_db poolname" (handle: HandleArg)
        => handle.handle.borrow().loan.pool.plan.name.as_str();

    /// The pools this server may use.
    "ns_db pools"
        => database(call).map(|d| d.pools.iter().map(|p| p.plan.name.clone()).collect::<Vec<String>>());

    /// Gives a handle back.
    "ns_db releasehandle" (handle: HandleArg)
        => release(call, handle);

    /// Brings a handle back to its first state: no rows, no transaction.
    "ns_db resethandle" (handle: HandleArg)
        => reset(&handle);

    /// Rows that the last statement changed.
    "ns_db rowcount" (handle: HandleArg)
        => row_count(&handle);

    /// Runs a query; gives a set for its rows.
    "ns_db select" (handle: HandleArg, sql: String)
        => select(call, &handle, &sql);

    /// What the database calls this connection.
    "ns_db session_id" (handle: HandleArg)
        => handle.handle.borrow_mut().perform("session_id", None, |s| Ok(s.session_id()));

    /// Sets the exception of a handle.
    "ns_db setexception" (handle: HandleArg, code: String, message: String)
        => set_exception(&handle, code, message);

    /// Executes a stored procedure.
    "ns_db sp_exec" (handle: HandleArg)
        => procedures(&handle, "sp_exec");

    /// Output parameters of a stored procedure.
    "ns_db sp_getparams" (handle: HandleArg)
        => procedures(&handle, "sp_getparams");

    /// Result of a stored procedure.
    "ns_db sp_returncode" (handle: HandleArg)
        => procedures(&handle, "sp_returncode");

    /// Sets a parameter of a stored procedure.
    "ns_db sp_setparam" (handle: HandleArg, paramname: String, r#type: String, direction as "in|out": Direction, value: String)
        => {
            let _ = (paramname, r#type, direction, value);
            procedures(&handle, "sp_setparam")
        };

    /// Begins a call of a stored procedure.
    "ns_db sp_start" (handle: HandleArg, procname: String)
        => {
            let _ = procname;
            procedures(&handle, "sp_start")
        };

    /// Counters of the pools.
    "ns_db stats"
        => stats(call);

    /// The user of the handle's pool.
    "ns_db user" (handle: HandleArg)
        => handle.handle.borrow().loan.pool.plan.source.user.as_str();

    /// Whether the statements of a handle are logged.
    "ns_db verbose" (handle: HandleArg, enabled as "true|false": Option<bool>)
        => verbose(&handle, enabled);

    /// The section that lists the pools of this server.
    "ns_dbconfigpath"
        => context(call).server().section("db");

    /// Code of the last failure.
    "ns_dberrorcode" (handle: HandleArg)
        => handle.handle.borrow().exception.code.as_str();

    /// Text of the last failure.
    "ns_dberrormsg" (handle: HandleArg)
        => handle.handle.borrow().exception.message.as_str();

    /// Description of a pool.
    "ns_dbpooldescription" (poolname: String)
        => allowed(call, &poolname).map(|p| p.plan.description.clone());

    /// Description of a pool.
    #[deprecated("ns_dbpooldescription")]
    "ns_pooldescription" (poolname: String)
        => allowed(call, &poolname).map(|p| p.plan.description.clone());
}

/// An `ns_set` by its handle.
pub struct SetId(SetRef);

impl FromObj for SetId {
    const KIND: Kind = Kind::Value("setId");

    fn from_obj(call: &Call<'_>, _label: Label, value: &Obj) -> Result<SetId, Exit> {
        let handle = value.text();
        let found = context(call).sets.borrow().get(&handle);
        found.map(SetId).ok_or_else(|| {
            TclError::new(format!("no such set: \"{handle}\""))
                .with_code(&["NS", "NO_SUCH_SET"])
                .into()
        })
    }
}

fn context(call: &Call<'_>) -> Rc<Context> {
    Context::of(call.interp)
}

/// The databases of the server a script runs in.
///
/// # Errors
/// The module is loaded for another server only.
pub fn database(call: &Call<'_>) -> Result<Arc<Database>, Exit> {
    let found = context(call).server().extensions.find::<Database>();
    found.ok_or_else(|| tcl::error("module nsdb is not loaded in this server"))
}

/// A pool this server may use.
pub fn allowed(call: &Call<'_>, name: &str) -> Result<Arc<Pool>, Exit> {
    let database = database(call)?;
    let found = database.pools.iter().find(|p| p.plan.name == name);
    found
        .cloned()
        .ok_or_else(|| tcl::error(format!("no access to pool: \"{name}\"")))
}

fn get_handle(call: &Call<'_>, timeout: Time, name: Option<String>, count: usize) -> Outcome {
    let pool = match name {
        Some(name) => allowed(call, &name)?,
        None => database(call)?
            .default
            .clone()
            .ok_or_else(|| tcl::error("no defaultpool configured"))?,
    };
    let handles = Handles::of(call.interp);
    let owned = handles
        .list()
        .iter()
        .filter(|(_, h)| Arc::ptr_eq(&h.borrow().loan.pool, &pool))
        .count();
    let name = &pool.plan.name;
    let plural = if count == 1 { "handle" } else { "handles" };
    if owned > 0 {
        // Two who hold one handle each and want another would wait for each other forever.
        return Err(tcl::error(format!(
            "could not allocate {count} {plural} from pool \"{name}\": \
             this thread already owns {owned} of it, which must be released first"
        )));
    }
    let patience = match timeout {
        t if t.is_negative() => Patience::Never,
        Time::ZERO => Patience::Forever,
        t => Patience::For(t.to_duration()),
    };
    let why = match pool.get(count, patience) {
        Ok(loans) if count == 1 => {
            return Ok(loans
                .into_iter()
                .next()
                .map_or_else(Obj::new, |l| handles.enter(l).into()));
        }
        Ok(loans) => {
            return Ok(Obj::list(
                loans.into_iter().map(|l| Obj::from(handles.enter(l))),
            ));
        }
        // The manual: an empty result when the time was not enough.
        Err(Refused::Timeout) if patience != Patience::Never => {
            shared::warning!(
                "pool {name}: no {plural} within {} s ({count} wanted)",
                timeout.decimal()
            );
            return Ok(Obj::new());
        }
        Err(Refused::Timeout) => String::new(),
        Err(Refused::TooMany) => format!(": it has {}", pool.plan.connections),
        Err(Refused::Closed) => ": the server is stopping".to_owned(),
        Err(Refused::Failed(f)) => {
            shared::error!("pool {name}: cannot connect ({}): {}", f.code, f.message);
            format!(": {}", f.message)
        }
    };
    Err(tcl::error(format!(
        "could not allocate {count} {plural} from pool \"{name}\"{why}"
    )))
}

fn execute(arg: &HandleArg, operation: &str, sql: &str, want: Want) -> Result<Shape, Exit> {
    let mut handle = arg.handle.borrow_mut();
    let shape = handle.perform(operation, Some(sql), |s| s.run(sql, want))?;
    handle.active = shape == Shape::Rows;
    Ok(shape)
}

fn shape_word(shape: Shape) -> &'static str {
    match shape {
        Shape::Rows => "NS_ROWS",
        Shape::Done => "NS_DML",
    }
}

fn new_set(call: &Call<'_>, columns: &[String]) -> Obj {
    let mut set = Set::unnamed();
    for column in columns {
        set.put(column, "");
    }
    Obj::from(context(call).sets.borrow_mut().create(set))
}

fn select(call: &Call<'_>, arg: &HandleArg, sql: &str) -> Outcome {
    execute(arg, "select", sql, Want::Rows)?;
    bind_row(call, arg)
}

fn bind_row(call: &Call<'_>, arg: &HandleArg) -> Outcome {
    let mut handle = arg.handle.borrow_mut();
    let columns = match active(&mut handle, "bindrow")?.loan.session() {
        Some(session) => session.columns().to_vec(),
        None => Vec::new(),
    };
    Ok(new_set(call, &columns))
}

/// The handle if rows are waiting.
fn active<'h, 'c>(
    handle: &'h mut RefMut<'c, Handle>,
    operation: &str,
) -> Result<&'h mut RefMut<'c, Handle>, Exit> {
    if handle.active {
        return Ok(handle);
    }
    Err(handle.fail(operation, None, Failure::nsdb("No rows waiting to fetch.")))
}

fn get_row(arg: &HandleArg, set: &SetRef) -> Result<bool, Exit> {
    let mut handle = arg.handle.borrow_mut();
    active(&mut handle, "getrow")?;
    let more = handle.perform("getrow", None, |s| next_row(s, &mut set.borrow_mut()))?;
    handle.active = more;
    Ok(more)
}

/// Puts the next row's values into a set; a set made for other columns is made anew.
fn next_row(session: &mut dyn Session, set: &mut Set) -> Result<bool, Failure> {
    if set.len() != session.columns().len() {
        set.clear();
        for column in session.columns() {
            set.put(column, "");
        }
    }
    session.next(&mut |i, value| {
        match value {
            Some(text) => set.put_value(i, text),
            None => set.put_null_value(i),
        };
    })
}

fn one_row(call: &Call<'_>, arg: &HandleArg, operation: &str, sql: &str, needed: bool) -> Outcome {
    execute(arg, operation, sql, Want::Rows)?;
    let mut handle = arg.handle.borrow_mut();
    handle.active = false;
    let row = handle.perform(operation, None, |s| {
        let mut set = Set::unnamed();
        let found = next_row(s, &mut set)?;
        let more = found && s.next(&mut |_, _| {})?;
        s.flush();
        match (found, more) {
            (_, true) => Err(Failure::nsdb("Query returned more than one row.")),
            (false, _) if needed => Err(Failure::nsdb("Query did not return a row.")),
            (false, _) => Ok(None),
            (true, false) => Ok(Some(set)),
        }
    });
    match row? {
        Some(set) => Ok(Obj::from(context(call).sets.borrow_mut().create(set))),
        None => Ok(Obj::new()),
    }
}

/// An operation that cannot fail and needs no connection.
fn quiet(arg: &HandleArg, work: impl FnOnce(&mut dyn Session)) {
    let mut handle = arg.handle.borrow_mut();
    handle.active = false;
    if let Some(session) = handle.loan.session() {
        work(session);
    }
}

fn release(call: &Call<'_>, arg: HandleArg) {
    let name = arg.name.clone();
    // The handle goes back with its last reference.
    drop(arg);
    Handles::of(call.interp).release(&name);
}

fn reset(arg: &HandleArg) -> Result<(), Exit> {
    let mut handle = arg.handle.borrow_mut();
    handle.active = false;
    handle.perform("resethandle", None, |s| s.reset().map(drop))?;
    handle.exception = Failure::default();
    Ok(())
}

fn row_count(arg: &HandleArg) -> u64 {
    arg.handle
        .borrow_mut()
        .loan
        .session()
        .map_or(0, |s| s.row_count())
}

fn exception(arg: &HandleArg) -> Vec<String> {
    let handle = arg.handle.borrow();
    vec![
        handle.exception.code.clone(),
        handle.exception.message.clone(),
    ]
}

fn set_exception(arg: &HandleArg, code: String, message: String) -> Result<(), Exit> {
    if code.chars().count() > 5 {
        return Err(tcl::error(format!(
            "code \"{code}\" more than 5 characters"
        )));
    }
    arg.handle.borrow_mut().exception = Failure { code, message };
    Ok(())
}

fn procedures(arg: &HandleArg, operation: &str) -> Result<(), Exit> {
    let failure = Failure::new("0A000", "the driver has no stored procedures of this kind");
    Err(arg.handle.borrow_mut().fail(operation, None, failure))
}

fn interpret_file(arg: &HandleArg, path: &str) -> Result<(), Exit> {
    let script = std::fs::read_to_string(path)
        .map_err(|e| tcl::error(format!("could not read file \"{path}\": {e}")))?;
    let mut handle = arg.handle.borrow_mut();
    handle.active = false;
    handle.perform("interpretsqlfile", Some(&script), |s| s.run_script(&script))
}

fn info(arg: &HandleArg) -> Outcome {
    let mut handle = arg.handle.borrow_mut();
    let version = handle.perform("info", None, |s| Ok(s.server_version()))?;
    let plan = &handle.loan.pool.plan;
    let pairs = [
        ("type", plan.driver.kind()),
        ("version", version.as_str()),
        ("driver", plan.driver_name.as_str()),
        ("pool", plan.name.as_str()),
        ("datasource", plan.source.datasource.as_str()),
    ];
    Ok(Obj::dict(pairs.map(|(k, v)| (Obj::from(k), Obj::from(v)))))
}

fn verbose(arg: &HandleArg, enabled: Option<bool>) -> bool {
    let mut handle = arg.handle.borrow_mut();
    if let Some(on) = enabled {
        handle.verbose = on;
    }
    handle.verbose
}

fn log_min_duration(call: &Call<'_>, name: Option<String>, limit: Option<Interval>) -> Outcome {
    let value = |p: &Pool| {
        Obj::from(Time::from_micros(p.log_min_duration.load(Ordering::Relaxed)).decimal())
    };
    let Some(name) = name else {
        let database = database(call)?;
        return Ok(Obj::dict(
            database
                .pools
                .iter()
                .map(|p| (Obj::from(p.plan.name.as_str()), value(p))),
        ));
    };
    let pool = allowed(call, &name)?;
    if let Some(Interval(limit)) = limit {
        pool.log_min_duration
            .store(limit.micros(), Ordering::Relaxed);
    }
    Ok(value(&pool))
}

fn current_handles(call: &Call<'_>) -> Outcome {
    let mut pools: Vec<(String, Vec<Obj>)> = Vec::new();
    for (name, handle) in Handles::of(call.interp).list() {
        let handle = handle.borrow();
        let pool = &handle.loan.pool.plan.name;
        let pair = [Obj::from(name), Obj::from(handle.active)];
        match pools.iter_mut().find(|(p, _)| p == pool) {
            Some((_, list)) => list.extend(pair),
            None => pools.push((pool.clone(), pair.to_vec())),
        }
    }
    Ok(Obj::dict(
        pools
            .into_iter()
            .map(|(p, list)| (Obj::from(p), Obj::list(list))),
    ))
}

fn stats(call: &Call<'_>) -> Outcome {
    let database = database(call)?;
    let one = |p: &Arc<Pool>| {
        let count = |c: &std::sync::atomic::AtomicU64| Obj::from(c.load(Ordering::Relaxed));
        let time = |c: &std::sync::atomic::AtomicU64| {
            Obj::from(format!(
                "{:.6}",
                c.load(Ordering::Relaxed) as f64 / 1_000_000.0
            ))
        };
        let (used, open) = p.usage();
        let pairs = [
            ("statements", count(&p.stats.statements)),
            ("gethandles", count(&p.stats.gets)),
            ("handles", Obj::from(p.plan.connections)),
            ("connected", Obj::from(used + open)),
            ("used", Obj::from(used)),
            ("waittime", time(&p.stats.wait_time)),
            ("sqltime", time(&p.stats.sql_time)),
        ];
        (
            Obj::from(p.plan.name.as_str()),
            Obj::dict(pairs.map(|(k, v)| (Obj::from(k), v))),
        )
    };
    Ok(Obj::dict(database.pools.iter().map(one)))
}
