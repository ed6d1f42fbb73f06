//! Databases: drivers, pools of connections, and the commands that use them.

mod commands;
mod dates;
mod driver;
mod held;
mod pool;
mod quote;
mod sqlite;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use server::hooks::Moment;
use server::module::{Loading, Module};
use server::process::Process;
use server::schedule::EventOptions;
use server::vserver::VirtualServer;
use shared::log::Severity;
use synopsis::{Int, params};

use driver::{Driver, Source};
use held::Handles;
use pool::{Plan, Pool};

pub const MODULE: Module = Module {
    name: "nsdb",
    about: "Database access: pools of connections, ns_db.",
    spec: NoSettings::spec,
    more_specs: || vec![ServerSettings::spec(), PoolSettings::spec()],
    prepare,
    start,
};

params! {
    /// The module has no parameters of its own; pools are in `ns/db/pools`.
    pub struct NoSettings in "ns/server/*/module/nsdb" {
    }
}

params! {
    /// Which pools a server may use.
    pub struct ServerSettings in "ns/server/*/db" {
        /// Names of pools, or `*`.
        pools: Option<String>,
        /// The pool of `ns_db gethandle` without a name.
        defaultpool: Option<String>,
    }
}

params! {
    /// A pool of connections to one database.
    pub struct PoolSettings in "ns/db/pool/*" {
        /// A name of `ns/db/drivers`.
        driver: Option<String>,
        /// Where the database is, in the driver's own notation.
        datasource: Option<String>,
        /// Who logs in.
        user: Option<String>,
        /// With which password.
        password: Option<String>,
        /// Handles of the pool.
        connections: Int<1, 10000> = "2",
        /// Interval of the search for old connections.
        checkinterval: Duration = "5m",
        /// Connections not used for so long are closed; 0: never.
        maxidle: Duration = "5m",
        /// Connections open for so long are closed; 0: never.
        maxopen: Duration = "60m",
        /// Log only statements that take so long.
        logminduration: Duration = "0ms",
        /// Log failed statements.
        logsqlerrors: bool = "false",
        /// Log all statements.
        verbose: bool = "false",
    }
}

/// What a server may use. An extension of the server.
pub struct Database {
    pub pools: Vec<Arc<Pool>>,
    pub default: Option<Arc<Pool>>,
}

/// All pools of the process. An extension of the process.
#[derive(Default)]
struct Pools(Mutex<Option<Vec<Arc<Pool>>>>);

/// The severity `Debug(sql)`.
pub fn severity() -> Severity {
    static SQL: OnceLock<Severity> = OnceLock::new();
    *SQL.get_or_init(|| shared::log::register("Debug(sql)").unwrap_or(shared::log::DEBUG))
}

/// Reads the configuration; connections are opened when somebody asks for a handle.
fn prepare(loading: &Loading<'_>) -> Result<(), String> {
    severity();
    let pools = pools(loading.process)?;
    for server in servers(loading) {
        let section = loading
            .process
            .config
            .read()
            .section_or_empty(&server.section("db"));
        let settings = ServerSettings::read(&section).map_err(problems)?;
        let wanted = settings.pools.unwrap_or_default();
        let mut allowed = Vec::new();
        for name in wanted
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|n| !n.is_empty())
        {
            if name == "*" {
                allowed.clone_from(&pools);
                break;
            }
            allowed.push(named(&pools, name, &section.name)?);
        }
        let default = settings.defaultpool.filter(|n| !n.is_empty());
        let default = default
            .map(|n| named(&allowed, &n, &section.name))
            .transpose()?;
        server.extensions.get_or(|| Database {
            pools: allowed,
            default,
        });
    }
    Ok(())
}

fn servers(loading: &Loading<'_>) -> Vec<Arc<VirtualServer>> {
    match loading.server {
        Some(server) => vec![Arc::clone(server)],
        None => loading.process.servers().to_vec(),
    }
}

fn start(loading: &Loading<'_>) -> Result<(), String> {
    loading.commands(commands::TABLE);
    loading.commands(quote::TABLE);
    loading.commands(dates::TABLE);
    loading.on_cleanup(|interp, _| {
        if let Some(handles) = interp.data::<Handles>() {
            handles.release_all();
        }
    });
    Ok(())
}

fn named(pools: &[Arc<Pool>], name: &str, section: &str) -> Result<Arc<Pool>, String> {
    pools
        .iter()
        .find(|p| p.plan.name == name)
        .cloned()
        .ok_or_else(|| {
            let known: Vec<&str> = pools.iter().map(|p| p.plan.name.as_str()).collect();
            format!(
                "section {section}: no pool \"{name}\"; pools are {}",
                known.join(", ")
            )
        })
}

/// The pools of `ns/db/pools`, made when the first server asks for them.
fn pools(process: &Arc<Process>) -> Result<Vec<Arc<Pool>>, String> {
    let extension = process.extensions.get::<Pools>();
    let mut made = extension.0.lock();
    if let Some(pools) = &*made {
        return Ok(pools.clone());
    }
    let config = process.config.read();
    let drivers = drivers(&config.section_or_empty("ns/db/drivers"))?;
    let mut pools = Vec::new();
    for listed in config.section_or_empty("ns/db/pools").params {
        let section = config.section_or_empty(&format!("ns/db/pool/{}", listed.key));
        let s = PoolSettings::read(&section).map_err(problems)?;
        let driver_name = s.driver.unwrap_or_default();
        let driver = drivers
            .iter()
            .find(|(n, _)| *n == driver_name)
            .map(|(_, d)| Arc::clone(d))
            .ok_or_else(|| {
                let known: Vec<&str> = drivers.iter().map(|(n, _)| n.as_str()).collect();
                format!(
                    "section {}: driver \"{driver_name}\" is not in ns/db/drivers; there are {}",
                    section.name,
                    if known.is_empty() {
                        "none".to_owned()
                    } else {
                        known.join(", ")
                    }
                )
            })?;
        let source = Source {
            datasource: s.datasource.unwrap_or_default(),
            user: s.user.unwrap_or_default(),
            password: s.password.unwrap_or_default(),
        };
        let plan = Plan {
            name: listed.key,
            description: listed.value,
            driver_name,
            driver,
            source,
            connections: s.connections.as_usize(),
            max_idle: s.maxidle,
            max_open: s.maxopen,
            log_sql_errors: s.logsqlerrors,
        };
        let pool = Pool::new(plan, s.logminduration, s.verbose);
        watch(process, &pool, s.checkinterval);
        pools.push(pool);
    }
    *made = Some(pools.clone());
    Ok(pools)
}

/// The drivers of `ns/db/drivers` by their configured names.
fn drivers(section: &server::config::Section) -> Result<Vec<(String, Arc<dyn Driver>)>, String> {
    let mut drivers: Vec<(String, Arc<dyn Driver>)> = Vec::new();
    for p in &section.params {
        let place = p.place.clone();
        let entry = server::module::Configured {
            name: p.key.clone(),
            file: p.value.clone(),
            server: None,
            place,
        };
        let driver: Arc<dyn Driver> = match entry.implementation().as_str() {
            "nsdbsqlite" | "nssqlite3" | "nssqlite" | "sqlite" | "sqlite3" => {
                Arc::new(sqlite::Sqlite::default())
            }
            _ => {
                return Err(format!(
                    "{}: unknown database driver \"{}\"; there is nsdbsqlite",
                    p.place, p.value
                ));
            }
        };
        drivers.push((p.key.clone(), driver));
    }
    Ok(drivers)
}

/// Closes old connections now and then, and all of them at the end: SQLite tidies up its files then.
fn watch(process: &Arc<Process>, pool: &Arc<Pool>, interval: Duration) {
    if !interval.is_zero() {
        let checked = Arc::clone(pool);
        let what = format!("nsdb checkinterval {}", pool.plan.name);
        let job = Arc::new(move |_: &server::schedule::EventInfo| checked.close_stale());
        process
            .scheduler()
            .every(interval, EventOptions::default(), &what, job);
    }
    let closed = Arc::clone(pool);
    process.hooks.add(
        Moment::Exit,
        format!("nsdb pool {}", pool.plan.name),
        move || closed.close(),
    );
}

fn problems(list: Vec<synopsis::ParamProblem>) -> String {
    list.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}
