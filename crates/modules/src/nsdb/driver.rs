//! What a database driver is: values behind three traits. Drivers know nothing of Tcl, pools or servers.

/// Why an operation failed: a code of the kind of SQLSTATE and a text, as `ns_db exception` shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    pub code: String,
    pub message: String,
}

impl Failure {
    pub fn new(code: &str, message: impl Into<String>) -> Failure {
        Failure {
            code: code.to_owned(),
            message: message.into(),
        }
    }

    /// A failure that the commands found, not the database.
    pub fn nsdb(message: &str) -> Failure {
        Failure::new("NSDB", message)
    }
}

/// What the caller of [`Session::run`] is able to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Rows; a statement that returns none is refused, before it is executed where the driver can tell.
    Rows,
    /// No rows; a query is refused. Rows of statements that change something (`returning`) are thrown away.
    Nothing,
    Either,
}

/// What a statement turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Rows,
    Done,
}

/// Where a connection leads to.
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub datasource: String,
    pub user: String,
    pub password: String,
}

/// A kind of database. One value for each entry of `ns/db/drivers` that names it.
pub trait Driver: Send + Sync {
    /// What `ns_db dbtype` shows.
    fn kind(&self) -> &'static str;

    /// Opens a connection; may block.
    ///
    /// # Errors
    /// What the database says.
    fn open(&self, source: &Source) -> Result<Box<dyn Connection>, Failure>;
}

/// An open connection in its pool: nobody uses it, it may go to another thread.
pub trait Connection: Send {
    /// Takes it into use on this thread.
    fn take(self: Box<Self>) -> Box<dyn Session>;
}

/// A connection in use by one thread.
pub trait Session {
    /// Runs one statement. Rows of the statement before are thrown away. Further statements behind it are refused: a
    /// value that was not quoted cannot smuggle one in.
    ///
    /// # Errors
    /// What the database says.
    fn run(&mut self, sql: &str, want: Want) -> Result<Shape, Failure>;

    /// Runs all statements of a script, rows are thrown away.
    ///
    /// # Errors
    /// That of the first statement that fails; the ones before it were executed.
    fn run_script(&mut self, script: &str) -> Result<(), Failure>;

    /// Names of the columns of the last statement that returned rows.
    fn columns(&self) -> &[String];

    /// The next row: `cell` is called with each column's number and text, or `None` for NULL. False behind the last row.
    ///
    /// # Errors
    /// What the database says.
    fn next(&mut self, cell: &mut dyn FnMut(usize, Option<&str>)) -> Result<bool, Failure>;

    /// Throws away the rows not fetched yet.
    fn flush(&mut self);

    /// Stops what the database is doing for this connection.
    fn cancel(&mut self);

    /// Ends what a user left behind: rows, an open transaction. True if there was one.
    ///
    /// # Errors
    /// The connection is not fit for another user.
    fn reset(&mut self) -> Result<bool, Failure>;

    /// Rows changed by the last statement, or fetched by the last query.
    fn row_count(&self) -> u64;

    /// Version of the database, as it calls it.
    fn server_version(&self) -> String;

    /// What the database calls this connection, for its own lists.
    fn session_id(&self) -> String;

    /// Gives it back; rows are thrown away.
    fn park(self: Box<Self>) -> Box<dyn Connection>;
}
