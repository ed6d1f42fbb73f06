//! Tests of the driver alone.

use super::*;

fn open() -> Box<dyn Session> {
    let source = Source {
        datasource: ":memory:".into(),
        ..Source::default()
    };
    Sqlite::default()
        .open(&source)
        .expect("memory is there")
        .take()
}

fn rows(s: &mut dyn Session, sql: &str) -> Vec<Vec<Option<String>>> {
    assert_eq!(s.run(sql, Want::Rows), Ok(Shape::Rows), "{sql}");
    let mut all = Vec::new();
    loop {
        let mut row = Vec::new();
        if !s
            .next(&mut |_, v| row.push(v.map(str::to_owned)))
            .expect("rows")
        {
            return all;
        }
        all.push(row);
    }
}

#[test]
fn values_have_the_text_that_sqlite_gives_them() {
    let mut s = open();
    let numbers = [
        "1.0",
        "0.1",
        "0.1+0.2",
        "1e15",
        "1e14",
        "123456789012345.6",
        "1e300",
        "-1e-5",
        "0.0001",
        "1.5e-4",
        "2.0/3",
        "1e16",
        "-0.0",
        "9e999",
        "-9e999",
        "3.14",
        "100.0",
        "123456.789",
        "5e-324",
        "1.7976931348623157e308",
        "999999999999999.9",
        "12345678901234567.0",
        "1234567890123456.7",
        "1e17",
        "1e18",
        "123456789012345678e5",
        "9007199254740993.0",
        "1e-4",
        "9.9999e-5",
        "1.1e16",
        "99999999999999999.0",
        "1.0/3e10",
        "julianday('2024-02-29 12:34:56.789')",
        "8.41e21",
    ];
    let mut bad = Vec::new();
    for n in numbers {
        let row = rows(&mut *s, &format!("select {n}, cast({n} as text)")).remove(0);
        if row[0] != row[1] {
            bad.push((n, row));
        }
    }
    assert_eq!(bad, []);
    let row = rows(&mut *s, "select 42, 'é', x'00ff41', null, ''").remove(0);
    let want = [Some("42"), Some("é"), Some("\0ÿA"), None, Some("")];
    assert_eq!(row, want.map(|v| v.map(str::to_owned)));
}

#[test]
fn long_results_come_in_windows_and_end_once() {
    let mut s = open();
    let sql = "with recursive n(i) as (select 1 union all select i+1 from n where i < 100000) select i, 'text ' || i from n";
    let all = rows(&mut *s, sql);
    assert_eq!(all.len(), 100_000);
    assert_eq!(all[99_999][1].as_deref(), Some("text 100000"));
    assert_eq!(s.row_count(), 100_000);
    assert_eq!(s.next(&mut |_, _| {}), Ok(false));
    // A statement given up half way leaves nothing behind.
    s.run(sql, Want::Rows).expect("runs");
    s.next(&mut |_, _| {}).expect("first row");
    s.flush();
    assert_eq!(s.next(&mut |_, _| {}), Ok(false));
    assert_eq!(rows(&mut *s, sql).len(), 100_000);
}

#[test]
fn statements_are_checked_before_they_run() {
    let mut s = open();
    s.run(
        "create table t(a integer primary key, b text not null unique)",
        Want::Nothing,
    )
    .expect("ddl");
    assert_eq!(
        s.run("insert into t(b) values ('x')", Want::Rows)
            .expect_err("no rows")
            .code,
        "NSDB"
    );
    assert_eq!(
        rows(&mut *s, "select count(*) from t")[0][0].as_deref(),
        Some("0")
    );
    assert_eq!(
        s.run("select 1", Want::Nothing).expect_err("rows").message,
        "Query was not a DML or DDL command."
    );
    assert_eq!(
        s.run(
            "insert into t(b) values ('x'), ('y') returning a",
            Want::Nothing
        ),
        Ok(Shape::Done)
    );
    assert_eq!(s.row_count(), 2);
    assert_eq!(
        rows(&mut *s, "insert into t(b) values ('z') returning a")[0][0].as_deref(),
        Some("3")
    );
    assert_eq!(
        s.run("insert into t(b) values ('x')", Want::Nothing)
            .expect_err("unique")
            .code,
        "23505"
    );
    assert_eq!(
        s.run("insert into t(b) values (null)", Want::Nothing)
            .expect_err("not null")
            .code,
        "23502"
    );
    assert_eq!(
        s.run("delete from t; drop table t", Want::Nothing)
            .expect_err("two")
            .code,
        "42601"
    );
    assert_eq!(
        s.run("delete from t ; -- all of it", Want::Nothing),
        Ok(Shape::Done)
    );
    assert_eq!(s.row_count(), 3);
    assert_eq!(
        s.run("selct", Want::Either).expect_err("syntax").code,
        "42601"
    );
    assert_eq!(
        s.run("select * from nope", Want::Rows)
            .expect_err("table")
            .code,
        "42P01"
    );
    assert_eq!(
        s.run("create table t(a)", Want::Nothing)
            .expect_err("there")
            .code,
        "42P07"
    );
    assert_eq!(
        s.run("delete from t where a = 1\0 and b = 'x'", Want::Nothing)
            .expect_err("cut")
            .code,
        "22021"
    );
    for nothing in ["", "  ", "-- just a comment"] {
        let _ = s.run(nothing, Want::Either);
    }
}

#[test]
fn an_open_transaction_is_rolled_back() {
    let mut s = open();
    s.run("create table t(a)", Want::Nothing).expect("ddl");
    s.run("begin immediate", Want::Nothing).expect("begin");
    s.run("insert into t values (1)", Want::Nothing)
        .expect("insert");
    assert_eq!(s.reset(), Ok(true));
    assert_eq!(s.reset(), Ok(false));
    let mut s = s.park().take();
    assert_eq!(rows(&mut *s, "select * from t").len(), 0);
    s.run_script("insert into t values ('a;b'); create trigger x after insert on t begin delete from t; end;").expect("ok");
    assert_eq!(
        rows(&mut *s, "select * from t")[0][0].as_deref(),
        Some("a;b")
    );
}

#[test]
fn a_compiled_statement_sees_new_columns() {
    let directory = std::env::temp_dir().join(format!("navis-sqlite-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    let datasource = directory.join("t.db").to_string_lossy().into_owned();
    let source = Source {
        datasource,
        ..Source::default()
    };
    let driver = Sqlite::default();
    let (mut one, mut two) = (
        driver.open(&source).expect("opens").take(),
        driver.open(&source).expect("opens").take(),
    );
    one.run("create table t(a)", Want::Nothing).expect("ddl");
    one.run("insert into t values (1)", Want::Nothing)
        .expect("insert");
    assert_eq!(rows(&mut *one, "select * from t")[0].len(), 1);
    two.run("alter table t add column b default 'x'", Want::Nothing)
        .expect("ddl");
    assert_eq!(rows(&mut *one, "select * from t")[0].len(), 2);
    assert_eq!(one.columns(), ["a", "b"]);
    drop((one, two));
    std::fs::remove_dir_all(directory).expect("was made above");
}
