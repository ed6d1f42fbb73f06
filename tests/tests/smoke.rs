//! The shortest proof of life: start, one page, a clean stop.

use testkit::Server;

#[test]
fn a_page_is_served_and_the_end_is_orderly() {
    let mut server = Server::builder()
        .page("index.html", "<h1>Hello</h1>")
        .start();
    let response = server.get("/");
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.text(), "<h1>Hello</h1>");
    assert_eq!(response.header("content-type"), Some("text/html"));
    assert_eq!(server.stop(), Some(0), "{}", server.log());
}
