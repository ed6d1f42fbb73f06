//! Users and rules of nsperm, as clients and operators see them.

use testkit::{Builder, Response, Server};

/// `x` encrypted with the salt `CU`.
const X: &str = "CUdnvgBYocLSI";

fn server() -> Builder {
    Server::builder()
        .module("nsperm", "nsperm")
        .file("modules/nsperm/passwd", format!("# users\n\"\"::::::\nnsadmin:{X}:::::\nann:{X}:::Ann A.::\nbob:{X}:::::\nfar:{X}:::::\n"))
        .file("modules/nsperm/group", "team:::ann,bob\nall:::ann,\"\"\n")
        .file("modules/nsperm/hosts.allow", "far: 10.0.0.0/255.0.0.0\nnobody: x\n")
        .file(
            "modules/nsperm/perms",
            "# rules\nallowgroup inherit GET /team team\ndenyuser inherit GET /team bob\nallowuser noinherit GET /far far\nno rule\n",
        )
        .page("team/a.html", "for the team")
        .page("far", "from afar")
        .page("index.html", "open")
}

fn ask(server: &Server, path: &str, user: &str, password: &str) -> Response {
    let value = format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
    server
        .connect()
        .request("GET", path, &[("Authorization", &value)], b"")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = bytes.chunks(3).flat_map(|chunk| {
        let n = (0..3).fold(0_usize, |n, i| {
            n << 8 | usize::from(*chunk.get(i).unwrap_or(&0))
        });
        (0..4).map(move |i| {
            if i > chunk.len() {
                '='
            } else {
                char::from(DIGITS[n >> (18 - 6 * i) & 63])
            }
        })
    });
    digits.collect()
}

#[test]
fn files_say_who_may() {
    let server = server().start();
    let answer = server.get("/team/a.html");
    assert_eq!(
        (answer.status, answer.header("www-authenticate")),
        (401, Some("Basic realm=\"default\""))
    );
    for (user, password, status) in [
        ("ann", "x", 200),
        ("nsadmin", "x", 200),
        ("ann", "y", 401),
        ("bob", "x", 403),
        ("eve", "x", 401),
        ("far", "x", 403),
    ] {
        assert_eq!(
            ask(&server, "/team/a.html", user, password).status,
            status,
            "{user} {password}\n{}",
            server.log()
        );
    }
    assert_eq!(
        ask(&server, "/far", "far", "x").status,
        403,
        "not from here"
    );
    assert_eq!(server.get("/").status, 200);
    let head = server.connect().request("HEAD", "/team/a.html", &[], b"");
    assert_eq!(head.status, 401, "HEAD follows GET");
    server.wait_for_log("perms, line 5");
    server.wait_for_log("no such user: \"nobody\"");
}

#[test]
fn commands_change_it() {
    let server = server().start();
    let eval = |script: &str| server.eval(script).expect("no error");
    assert_eq!(
        eval(
            "list [ns_passwordcheck ann x] [ns_passwordcheck ann y] [ns_auth user ann x] [ns_auth user ann y]"
        ),
        "1 0 OK UNAUTHORIZED"
    );
    assert_eq!(
        eval("catch {ns_perm checkpass ann y} m; set m"),
        "incorrect password"
    );
    eval(
        "ns_perm adduser -salt ab new pw {N. N.}; ns_perm adduser -clear plain pw2 {}; ns_perm checkpass new pw; ns_perm checkpass plain pw2",
    );
    assert_eq!(
        eval("dict get [ns_perm listusers] new"),
        eval("ns_crypt pw ab")
    );
    assert_eq!(
        eval("catch {ns_perm adduser new x {}} m; set m"),
        "duplicate user: new"
    );
    assert_eq!(
        eval("ns_perm addgroup g new plain; dict get [ns_perm listgroups] g"),
        "new plain"
    );
    eval("ns_perm allowgroup -noinherit GET / g; ns_perm denyuser GET /index.html plain");
    assert_eq!(ask(&server, "/", "new", "pw").status, 200);
    assert_eq!(ask(&server, "/", "ann", "x").status, 403);
    assert_eq!(ask(&server, "/index.html", "plain", "pw2").status, 403);
    assert_eq!(
        eval("lsearch -all -inline -index 3 [ns_perm listperms] /team"),
        "{allowgroup inherit GET /team team} {denyuser inherit GET /team bob}"
    );
    eval(
        "ns_perm delperm GET /index.html; ns_perm delperm -noinherit GET /; ns_perm delgroup g; ns_perm deluser new",
    );
    assert_eq!(server.get("/").status, 200);
    assert_eq!(
        eval(
            "ns_perm setpass ann secret CU; list [catch {ns_perm checkpass ann x}] [catch {ns_perm checkpass ann secret}]"
        ),
        "1 0"
    );
    eval("ns_permreload");
    assert_eq!(
        eval("list [catch {ns_perm checkpass ann x}] [catch {ns_perm checkpass plain pw2} m] $m"),
        "0 1 {no such user: plain}"
    );
}

#[test]
fn passwords_are_changed_in_the_file_too() {
    let server = server().start();
    let eval = |script: &str| server.eval(script).expect("no error");
    assert_eq!(
        eval("list [catch {ns_permpasswd ann wrong n} m] $m"),
        "1 {incorrect old password}"
    );
    eval(
        "ns_permpasswd ann x n; ns_permpasswd bob x m; ns_permreload; ns_perm checkpass ann n; ns_perm checkpass bob m",
    );
    let text =
        std::fs::read_to_string(server.home().join("modules/nsperm/passwd")).expect("the file");
    assert!(
        text.starts_with("# users\n\"\"::::::\nnsadmin:CU") && text.contains(":::Ann A.::"),
        "{text}"
    );
}

#[test]
fn directories_have_rules_of_their_own() {
    let server = server()
        .param("ns/server/default/module/nsperm", "htaccess", "true")
        .page("d/.htaccess", "# who\nallow ann\n")
        .page("d/deep/x.html", "deep")
        .page("d/deep/open/.htaccess", "deny bob\n")
        .page("d/deep/open/y.html", "open")
        .start();
    assert_eq!(
        server.get("/d/deep/x.html").status,
        401,
        "rules of directories above, at the first request"
    );
    assert_eq!(ask(&server, "/d/deep/x.html", "ann", "x").text(), "deep");
    assert_eq!(ask(&server, "/d/deep/x.html", "bob", "x").status, 403);
    assert_eq!(ask(&server, "/d/.htaccess", "ann", "x").status, 403);
    assert_eq!(server.get("/d/deep/open/y.html").text(), "open");
    assert_eq!(ask(&server, "/d/deep/open/y.html", "bob", "x").status, 403);
    std::fs::write(server.home().join("pages/d/.htaccess"), "allow bob ann\n")
        .expect("a changed file");
    assert_eq!(ask(&server, "/d/deep/x.html", "bob", "x").status, 200);
    std::fs::remove_file(server.home().join("pages/d/.htaccess")).expect("no file");
    assert_eq!(server.get("/d/deep/x.html").status, 200);
}
