//! The driver for SQLite. The data source is a path, or `:memory:`.
//!
//! Rows come in windows: as many as fit are read when a query starts, and a query that fits into one window is over, and its
//! locks are gone, before the script sees the first row. Longer ones keep their statement open and are read on demand.

mod text;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{CachedStatement, ErrorCode, OpenFlags};
use self_cell::self_cell;

use super::driver::{Connection, Driver, Failure, Session, Shape, Source, Want};
use text::write_value;

/// How long a connection waits for another one's lock unless a script says otherwise (`pragma busy_timeout`).
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Statements that are kept compiled on each connection.
const STATEMENTS: usize = 64;

/// A window is read until it has so many bytes of text.
const WINDOW_BYTES: usize = 256 << 10;

/// The driver.
#[derive(Default)]
pub struct Sqlite {
    serial: AtomicU64,
}

impl Driver for Sqlite {
    fn kind(&self) -> &'static str {
        "SQLite"
    }

    fn open(&self, source: &Source) -> Result<Box<dyn Connection>, Failure> {
        // Each connection is used by one thread at a time; SQLite need not lock it again.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        if source.datasource.is_empty() {
            return Err(Failure::new(
                "08001",
                "the datasource of an SQLite pool is the path of the database file",
            ));
        }
        let connection =
            rusqlite::Connection::open_with_flags(Path::new(&source.datasource), flags).map_err(
                |e| Failure {
                    message: format!("{}: {e}", source.datasource),
                    ..failure(&e)
                },
            )?;
        connection
            .busy_timeout(BUSY_TIMEOUT)
            .map_err(|e| failure(&e))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let serial = self.serial.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Box::new(Parked { connection, serial }))
    }
}

struct Parked {
    connection: rusqlite::Connection,
    serial: u64,
}

impl Connection for Parked {
    fn take(self: Box<Self>) -> Box<dyn Session> {
        Box::new(Open {
            cell: Cell::new(self.connection, |_| Running(None)),
            serial: self.serial,
            columns: Vec::new(),
            window: Window::default(),
            rows: 0,
        })
    }
}

/// A query whose rows do not fit into one window.
struct Running<'c>(Option<CachedStatement<'c>>);

self_cell!(
    struct Cell {
        owner: rusqlite::Connection,
        #[covariant]
        dependent: Running,
    }
);

struct Open {
    cell: Cell,
    serial: u64,
    columns: Vec<String>,
    window: Window,
    rows: u64,
}

/// Rows that were read but not asked for yet: one text with the end of each value.
#[derive(Default)]
struct Window {
    text: String,
    /// Ends in `text`; `None` is NULL.
    cells: Vec<Option<usize>>,
    /// The next cell and where its text begins.
    next: usize,
    start: usize,
}

impl Window {
    fn clear(&mut self) {
        self.text.clear();
        self.cells.clear();
        (self.next, self.start) = (0, 0);
        // A single huge row must not stay in memory for the rest of the connection's life.
        self.text.shrink_to(2 * WINDOW_BYTES);
    }

    fn is_empty(&self) -> bool {
        self.next >= self.cells.len()
    }
}

/// Reads rows into `window` until it is full. True if there may be more; then the statement stands on its last row.
fn fill(statement: &mut CachedStatement<'_>, window: &mut Window) -> Result<bool, rusqlite::Error> {
    window.clear();
    let mut rows = statement.raw_query();
    while window.text.len() < WINDOW_BYTES && window.cells.len() < WINDOW_BYTES / 16 {
        let Some(row) = rows.next()? else {
            return Ok(false);
        };
        // Asked for now: a compiled statement learns with its first row that a table has got another column.
        for column in 0..row.as_ref().column_count() {
            let value = row.get_ref(column)?;
            let end = write_value(&mut window.text, value).then_some(window.text.len());
            window.cells.push(end);
        }
    }
    // Dropping `rows` would reset the statement; it goes on with the next window.
    std::mem::forget(rows);
    Ok(true)
}

impl Session for Open {
    fn run(&mut self, sql: &str, want: Want) -> Result<Shape, Failure> {
        self.flush();
        self.rows = 0;
        check(sql)?;
        let Open {
            cell,
            columns,
            window,
            rows,
            ..
        } = self;
        cell.with_dependent_mut(|connection, running| {
            let mut statement = connection.prepare_cached(sql).map_err(|e| failure(&e))?;
            let width = statement.column_count();
            match want {
                Want::Rows if width == 0 => {
                    return Err(Failure::nsdb("Query was not a statement returning rows."));
                }
                Want::Nothing if width > 0 && is_query(sql) => {
                    return Err(Failure::nsdb("Query was not a DML or DDL command."));
                }
                _ => {}
            }
            if width == 0 || want == Want::Nothing {
                // `changes` keeps the count of the last change through statements that change nothing.
                let before = connection.total_changes();
                let mut result = statement.raw_query();
                while result.next().map_err(|e| failure(&e))?.is_some() {}
                drop(result);
                *rows = if connection.total_changes() == before {
                    0
                } else {
                    connection.changes()
                };
                return Ok(Shape::Done);
            }
            let more = fill(&mut statement, window).map_err(|e| failure(&e))?;
            columns.clear();
            columns.extend(statement.column_names().map(str::to_owned));
            if more {
                running.0 = Some(statement);
            }
            Ok(Shape::Rows)
        })
    }

    fn run_script(&mut self, script: &str) -> Result<(), Failure> {
        self.flush();
        self.rows = 0;
        check(script)?;
        self.cell
            .borrow_owner()
            .execute_batch(script)
            .map_err(|e| failure(&e))
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next(&mut self, cell: &mut dyn FnMut(usize, Option<&str>)) -> Result<bool, Failure> {
        let width = self.columns.len();
        if self.window.is_empty() {
            let window = &mut self.window;
            self.cell.with_dependent_mut(|_, running| {
                let Some(statement) = &mut running.0 else {
                    return Ok(());
                };
                let more = fill(statement, window);
                if !matches!(more, Ok(true)) {
                    running.0 = None;
                }
                more.map(drop).map_err(|e| failure(&e))
            })?;
        }
        let window = &mut self.window;
        if window.is_empty() {
            return Ok(false);
        }
        for column in 0..width {
            let end = window.cells[window.next];
            window.next += 1;
            cell(column, end.map(|end| &window.text[window.start..end]));
            window.start = end.unwrap_or(window.start);
        }
        self.rows += 1;
        Ok(true)
    }

    fn flush(&mut self) {
        self.window.clear();
        self.cell.with_dependent_mut(|_, running| {
            if let Some(mut statement) = running.0.take() {
                // Resets it: its locks end here.
                drop(statement.raw_query());
            }
        });
    }

    fn cancel(&mut self) {
        self.cell.borrow_owner().get_interrupt_handle().interrupt();
        self.flush();
    }

    fn reset(&mut self) -> Result<bool, Failure> {
        self.flush();
        let connection = self.cell.borrow_owner();
        if connection.is_autocommit() {
            return Ok(false);
        }
        connection
            .execute_batch("rollback")
            .map_err(|e| failure(&e))?;
        Ok(true)
    }

    fn row_count(&self) -> u64 {
        self.rows
    }

    fn server_version(&self) -> String {
        rusqlite::version().to_owned()
    }

    fn session_id(&self) -> String {
        self.serial.to_string()
    }

    fn park(mut self: Box<Self>) -> Box<dyn Connection> {
        self.flush();
        Box::new(Parked {
            serial: self.serial,
            connection: self.cell.into_owner(),
        })
    }
}

/// SQLite takes a NUL for the end of the text: what stands behind it, perhaps half of a condition, would be ignored.
fn check(sql: &str) -> Result<(), Failure> {
    if sql.contains('\0') {
        return Err(Failure::new(
            "22021",
            "a statement must not contain the character NUL",
        ));
    }
    Ok(())
}

/// A statement that only reads rows, by its first word. Others return rows besides what they do (`returning`, pragmas).
fn is_query(sql: &str) -> bool {
    let mut rest = sql.trim_start();
    loop {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment
                .split_once('\n')
                .map_or("", |(_, rest)| rest)
                .trim_start();
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment
                .split_once("*/")
                .map_or("", |(_, rest)| rest)
                .trim_start();
        } else {
            break;
        }
    }
    let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
    ["select", "values", "explain"]
        .iter()
        .any(|w| word.eq_ignore_ascii_case(w))
}

fn failure(error: &rusqlite::Error) -> Failure {
    match error {
        rusqlite::Error::MultipleStatement => Failure::new(
            "42601",
            "several statements in one command; ns_db interpretsqlfile runs scripts",
        ),
        rusqlite::Error::SqliteFailure(code, message) => {
            let message = message.clone().unwrap_or_else(|| error.to_string());
            Failure::new(state(code, &message), message)
        }
        rusqlite::Error::SqlInputError { error, msg, .. } => {
            Failure::new(state(error, msg), msg.clone())
        }
        other => Failure::new("HY000", other.to_string()),
    }
}

/// The SQLSTATE that other databases use for the same.
fn state(error: &rusqlite::ffi::Error, message: &str) -> &'static str {
    use rusqlite::ffi;
    match error.extended_code {
        ffi::SQLITE_CONSTRAINT_UNIQUE
        | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_ROWID => "23505",
        ffi::SQLITE_CONSTRAINT_NOTNULL => "23502",
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => "23503",
        ffi::SQLITE_CONSTRAINT_CHECK => "23514",
        _ => match error.code {
            ErrorCode::ConstraintViolation => "23000",
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => "40001",
            ErrorCode::ReadOnly => "25006",
            ErrorCode::OperationInterrupted => "57014",
            ErrorCode::CannotOpen => "08001",
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => "XX001",
            ErrorCode::DiskFull => "53100",
            ErrorCode::OutOfMemory => "53200",
            ErrorCode::SystemIoFailure => "58030",
            ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => "42501",
            ErrorCode::TypeMismatch => "22018",
            ErrorCode::TooBig => "54000",
            _ if message.contains("syntax error") || message.contains("incomplete input") => {
                "42601"
            }
            _ if message.starts_with("no such table") => "42P01",
            _ if message.starts_with("no such column") => "42703",
            _ if message.starts_with("no such function") => "42883",
            _ if message.contains("already exists") => "42P07",
            _ => "HY000",
        },
    }
}

#[cfg(test)]
mod tests;
