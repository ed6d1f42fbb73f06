//! Command families of the page API, with expectations in Tcl (`tests/cases/*.test.tcl`).

testkit::tcl_cases!("cases": adp, answers, connection, cookies, input, urls);
