//! The fastpath against what was recorded from the reference: families static, path, conditional, range and compress.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime};

use http::{Limits, parse_head};

use super::*;

const DATE: &str = "Thu, 02 Jan 2020 03:04:05 GMT";
const BEFORE: &str = "Wed, 01 Jan 2020 00:00:00 GMT";
const AFTER: &str = "Fri, 03 Jan 2020 00:00:00 GMT";
const NOW: i64 = 1_790_000_000;

/// A page directory that goes away with the test; all files are of [`DATE`].
struct Site {
    dir: tempfile::TempDir,
    config: FastpathConfig,
    cache: Option<Arc<FileCache>>,
}

impl Site {
    fn new() -> Site {
        let dir = tempfile::tempdir().unwrap();
        let mime: MimeTypes = Arc::new(|name| {
            let kind = match name.rsplit_once('.').map(|(_, e)| e) {
                Some("html") => "text/html",
                Some("txt") => "text/plain",
                Some("gz") => "application/gzip",
                _ => "application/octet-stream",
            };
            kind.to_owned()
        });
        let mut config = FastpathConfig::new(dir.path().join("pages"), mime);
        (config.gzip_static, config.brotli_static) = (true, true);
        let site = Site {
            dir,
            config,
            cache: None,
        };
        let digits: String = (0..100).map(|n| format!("{n:09}\n")).collect();
        for (name, content) in [
            ("index.html", "front\n"),
            ("plain.txt", "line one\nline two\nline three\n"),
            ("digits.txt", &digits),
            ("empty.txt", ""),
            (".hidden", "hidden\n"),
            ("deep/er/file.txt", "deep file\n"),
            ("sp ace/a b.txt", "space\n"),
            ("dir-index/index.html", "index\n"),
            ("dir-adp/index.adp", "<%= 1 %>"),
            ("dir-adp/index.html", "never"),
            ("dir-list/b&<.html", "b"),
            ("dir-list/a.txt", "aa"),
            ("dir-list/.dot", ""),
            ("dir-list/sub/x.txt", ""),
            ("zip/page.html", "plain version"),
            ("zip/page.html.gz", "gz version"),
            ("zip/br.html", "plain for brotli"),
            ("zip/br.html.br", "brotli version"),
            ("zip/both.html", "plain both"),
            ("zip/both.html.gz", "gz both"),
            ("zip/both.html.br", "br both"),
            ("zip/stale.html", "newer plain version"),
            ("zip/none.html", "none"),
        ] {
            site.write(name, content);
        }
        site.write_at("zip/stale.html.gz", "old", -86_400);
        fs::write(site.dir.path().join("secret.txt"), "secret").unwrap();
        site
    }

    fn write(&self, name: &str, content: &str) {
        self.write_at(name, content, 0);
    }

    fn write_at(&self, name: &str, content: &str, offset: i64) {
        let path = self.config.pagedir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = File::create(&path).unwrap();
        file.write_all(content.as_bytes()).unwrap();
        let seconds = http::date::parse(DATE, NOW).unwrap() + offset;
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds as u64))
            .unwrap();
    }

    fn ask(&self, method: &str, path: &str, fields: &[(&str, &str)]) -> FileAnswer {
        let fields: String = fields
            .iter()
            .map(|(k, v)| format!("{k}: {v}\r\n"))
            .collect();
        let target = path.replace(' ', "%20");
        let request = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n");
        let (head, _) = parse_head(request.as_bytes(), &Limits::default())
            .unwrap()
            .unwrap();
        let path = path.split('?').next().unwrap();
        Fastpath::new(self.config.clone(), self.cache.clone()).respond(method, path, &head, NOW)
    }

    /// Status, header fields without the modification time of all files, and body.
    fn get(&self, method: &str, path: &str, fields: &[(&str, &str)]) -> (u16, String, String) {
        match self.ask(method, path, fields) {
            FileAnswer::Response(response) => {
                let headers: Vec<String> = response
                    .head
                    .headers
                    .iter()
                    .filter(|&(k, v)| (k, v) != ("last-modified", DATE))
                    .map(|(k, v)| format!("{k}: {v}"))
                    .collect();
                (
                    response.head.status,
                    headers.join("; "),
                    text(response.content),
                )
            }
            FileAnswer::Redirect(to) => (302, to, String::new()),
            FileAnswer::IndexScript { url, file } => (
                0,
                url,
                file.file_name().unwrap().to_string_lossy().into_owned(),
            ),
            FileAnswer::Directory(dir) => (
                0,
                dir.file_name().unwrap().to_string_lossy().into_owned(),
                String::new(),
            ),
            FileAnswer::NotFound => (404, String::new(), String::new()),
            FileAnswer::MethodNotAllowed => (405, String::new(), String::new()),
            FileAnswer::Failed(error) => (500, error.to_string(), String::new()),
        }
    }
}

fn text(content: Content) -> String {
    let mut out = Vec::new();
    let mut add = |part: Part| match part {
        Part::Bytes(bytes) => out.extend_from_slice(&bytes),
        Part::File { file, offset, len } => {
            let mut bytes = vec![0; len as usize];
            file.read_exact_at(&mut bytes, offset).unwrap();
            out.extend(bytes);
        }
    };
    match content {
        Content::Empty => {}
        Content::Bytes(bytes) => add(Part::Bytes(bytes)),
        Content::File { file, offset, len } => add(Part::File { file, offset, len }),
        Content::Parts(parts) => parts.into_iter().for_each(add),
    }
    String::from_utf8(out).unwrap()
}

fn row(status: u16, headers: &str, body: &str) -> (u16, String, String) {
    (status, headers.to_owned(), body.to_owned())
}

const TEXT: &str = "content-type: text/plain; accept-ranges: bytes";
const HTML: &str = "content-type: text/html; accept-ranges: bytes";

#[test]
fn plain_files() {
    let mut site = Site::new();
    for cache in [None, Some(Arc::new(FileCache::new(100_000, 500)))] {
        site.cache = cache;
        for _ in 0..2 {
            let lines = "line one\nline two\nline three\n";
            assert_eq!(site.get("GET", "/plain.txt", &[]), row(200, TEXT, lines));
            assert_eq!(
                site.get("GET", "/plain.txt?x=1", &[]),
                row(200, TEXT, lines)
            );
            assert_eq!(site.get("GET", "/plain.txt/", &[]), row(200, TEXT, lines));
            assert_eq!(site.get("POST", "/plain.txt", &[]), row(200, TEXT, lines));
            let told = format!("{TEXT}; content-length: 29");
            assert_eq!(site.get("HEAD", "/plain.txt", &[]), row(200, &told, ""));
            assert_eq!(site.get("GET", "/empty.txt", &[]), row(200, TEXT, ""));
            assert_eq!(
                site.get("GET", "/sp ace/a b.txt", &[]),
                row(200, TEXT, "space\n")
            );
            assert_eq!(
                site.get("GET", "/deep/er/file.txt", &[]),
                row(200, TEXT, "deep file\n")
            );
            assert_eq!(site.get("GET", "/.hidden", &[]).2, "hidden\n");
            assert_eq!(site.get("GET", "/", &[]), row(200, HTML, "front\n"));
            assert_eq!(site.get("PUT", "/plain.txt", &[]).0, 405);
            assert_eq!(site.get("DELETE", "/plain.txt", &[]).0, 405);
            assert_eq!(site.get("GET", "/digits.txt", &[]).2.len(), 1000);
            for absent in [
                "/PLAIN.TXT",
                "/plain.txt/x",
                "/none",
                "/..",
                "/../secret.txt",
                "/deep/../../secret.txt",
                "/*.txt",
            ] {
                assert_eq!(site.get("GET", absent, &[]).0, 404, "{absent}");
            }
        }
    }
    let head = parse_head(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", &Limits::default())
        .unwrap()
        .unwrap()
        .0;
    let fastpath = Fastpath::new(site.config.clone(), None);
    assert!(matches!(
        fastpath.respond("GET", "/plain.txt\0.html", &head, NOW),
        FileAnswer::NotFound
    ));
    let long = format!("/{}", "x".repeat(5000));
    assert!(matches!(
        fastpath.respond("GET", &long, &head, NOW),
        FileAnswer::NotFound
    ));
}

#[test]
fn special_files_are_refused_and_links_followed() {
    let site = Site::new();
    let pages = &site.config.pagedir;
    std::os::unix::fs::symlink(site.dir.path().join("secret.txt"), pages.join("link.txt")).unwrap();
    std::os::unix::fs::symlink("loop", pages.join("loop")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        pages.join("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    assert_eq!(site.get("GET", "/link.txt", &[]).2, "secret");
    assert_eq!(site.get("GET", "/loop", &[]).0, 404);
    assert_eq!(site.get("GET", "/pipe", &[]).0, 404);
}

#[test]
fn directories() {
    let mut site = Site::new();
    assert_eq!(
        site.get("GET", "/dir-index/", &[]),
        row(200, HTML, "index\n")
    );
    assert_eq!(
        site.get("GET", "/dir-index", &[]),
        row(302, "/dir-index/", "")
    );
    assert_eq!(
        site.get("GET", "/dir-index?x=1", &[]),
        row(302, "/dir-index/?x=1", "")
    );
    assert_eq!(
        site.get("GET", "//dir-index", &[]),
        row(302, "/dir-index/", "")
    );
    assert_eq!(
        site.get("GET", "/dir-adp/", &[]),
        row(0, "/dir-adp/index.adp", "index.adp")
    );
    assert_eq!(site.get("GET", "/dir-list/", &[]).0, 404);
    site.config.directory_handler = true;
    assert_eq!(site.get("GET", "/dir-list", &[]), row(0, "dir-list", ""));
    site.config.directory_handler = false;

    site.config.listing = Listing::Simple;
    let (status, headers, page) = site.get("GET", "/dir-list", &[]);
    assert_eq!(
        (status, headers.as_str()),
        (200, "content-type: text/html; charset=utf-8")
    );
    let links: Vec<&str> = page.lines().filter(|l| l.starts_with("<li>")).collect();
    assert_eq!(
        links,
        [
            "<li><a href=\"/\">..</a></li>",
            "<li><a href=\"/dir-list/sub/\">sub/</a></li>",
            "<li><a href=\"/dir-list/a.txt\">a.txt</a></li>",
            "<li><a href=\"/dir-list/b&amp;%3C.html\">b&amp;&lt;.html</a></li>",
        ]
    );
    site.config.listing = Listing::Fancy;
    site.config.hide_dot_files = false;
    let (_, _, page) = site.get("GET", "/dir-list/", &[]);
    assert!(page.contains(&format!(
        "<tr><td><a href=\"/dir-list/a.txt\">a.txt</a></td><td>2</td><td>{DATE}</td></tr>"
    )));
    assert!(page.contains(".dot"));
}

#[test]
fn conditions() {
    let mut site = Site::new();
    let same = ("If-Modified-Since", DATE);
    let not_modified = row(304, "content-length: 0", "");
    let failed = row(412, "content-length: 0", "");
    for (fields, expected) in [
        (&[same][..], 304),
        (&[("If-Modified-Since", AFTER)], 304),
        (
            &[("If-Modified-Since", "Thu, 02 Jan 2090 03:04:05 GMT")],
            304,
        ),
        (
            &[(
                "If-Modified-Since",
                "Thu, 02 Jan 2020 03:04:05 GMT; length=29",
            )],
            304,
        ),
        (&[("If-Modified-Since", BEFORE)], 200),
        (&[("If-Modified-Since", "yesterday")], 200),
        (&[("If-Modified-Since", "")], 200),
        (&[("If-Unmodified-Since", DATE)], 200),
        (&[("If-Unmodified-Since", AFTER)], 200),
        (&[("If-Unmodified-Since", BEFORE)], 412),
        (&[("If-Unmodified-Since", "whenever")], 200),
        (&[("If-None-Match", "\"abc\"")], 200),
        (&[("If-None-Match", "*")], 304),
        (&[("If-None-Match", "\"abc\""), same], 200),
        (&[("If-Match", "\"abc\"")], 412),
        (&[("If-Match", "*")], 200),
        (&[same, ("If-Unmodified-Since", DATE)], 304),
        (&[same, ("If-Unmodified-Since", BEFORE)], 412),
        (&[("Range", "bytes=0-9"), same], 304),
        (
            &[("Range", "bytes=0-9"), ("If-Unmodified-Since", BEFORE)],
            412,
        ),
    ] {
        let answer = site.get("GET", "/plain.txt", fields);
        match expected {
            304 => assert_eq!(answer, not_modified, "{fields:?}"),
            412 => assert_eq!(answer, failed, "{fields:?}"),
            _ => assert_eq!(answer.0, 200, "{fields:?}"),
        }
    }
    assert_eq!(site.get("HEAD", "/plain.txt", &[same]), not_modified);
    assert_eq!(site.get("POST", "/plain.txt", &[same]).0, 200);
    assert_eq!(site.get("GET", "/", &[same]), not_modified);
    assert_eq!(
        site.get(
            "GET",
            "/zip/page.html",
            &[same, ("Accept-Encoding", "gzip")]
        ),
        not_modified
    );
    site.config.check_modified_since = false;
    assert_eq!(site.get("GET", "/plain.txt", &[same]).0, 200);
}

#[test]
fn ranges() {
    let mut site = Site::new();
    for cache in [None, Some(Arc::new(FileCache::new(100_000, 8192)))] {
        site.cache = cache;
        let get = |range: &str| site.get("GET", "/digits.txt", &[("Range", range)]);
        let one = |range: &str| format!("{TEXT}; content-range: bytes {range}/1000");
        assert_eq!(get("bytes=0-9"), row(206, &one("0-9"), "000000000\n"));
        assert_eq!(get("bytes=-10"), row(206, &one("990-999"), "000000099\n"));
        assert_eq!(get("bytes=995-2000"), row(206, &one("995-999"), "0099\n"));
        assert_eq!(get("bytes=0-4,2000-"), row(206, &one("0-4"), "00000"));
        assert_eq!(get("bytes=-0"), row(416, &one("*"), ""));
        assert_eq!(get("bytes=2000-,3000-"), row(416, &one("*"), ""));
        assert_eq!(get("bytes=9-0").0, 200);
        assert_eq!(get("lines=0-3").0, 200);
        let (status, headers, body) = get("bytes=0-4,10-14");
        let boundary = headers
            .split("boundary=")
            .nth(1)
            .unwrap()
            .split(';')
            .next()
            .unwrap();
        assert_eq!(status, 206);
        assert_eq!(
            headers,
            format!(
                "content-type: multipart/byteranges; boundary={boundary}; accept-ranges: bytes"
            )
        );
        let part = |range: &str| {
            format!(
                "--{boundary}\r\ncontent-type: text/plain\r\ncontent-range: bytes {range}/1000\r\n\r\n00000\r\n"
            )
        };
        assert_eq!(
            body,
            format!("{}{}--{boundary}--\r\n", part("0-4"), part("10-14"))
        );

        let ten = ("Range", "bytes=0-9");
        assert_eq!(
            site.get("HEAD", "/digits.txt", &[ten]),
            row(200, &format!("{TEXT}; content-length: 1000"), "")
        );
        assert_eq!(site.get("POST", "/digits.txt", &[ten]).0, 200);
        assert_eq!(
            site.get("GET", "/digits.txt", &[ten, ("Range", "bytes=2-3")])
                .2,
            "000000000\n"
        );
        assert_eq!(
            site.get("GET", "/empty.txt", &[ten]),
            row(416, &format!("{TEXT}; content-range: bytes */0"), "")
        );
        for (value, status) in [
            (DATE, 206),
            (AFTER, 200),
            (BEFORE, 200),
            ("\"abc\"", 200),
            ("W/\"abc\"", 200),
            ("nonsense", 200),
            ("", 200),
        ] {
            assert_eq!(
                site.get("GET", "/digits.txt", &[ten, ("If-Range", value)])
                    .0,
                status,
                "{value}"
            );
        }
        let zipped = site.get("GET", "/zip/page.html", &[ten, ("Accept-Encoding", "gzip")]);
        assert_eq!(
            zipped,
            row(
                206,
                &format!("{HTML}; content-range: bytes 0-9/13"),
                "plain vers"
            )
        );
    }
}

#[test]
fn precompressed_variants() {
    let site = Site::new();
    let vary = "vary: accept-encoding; ";
    let gzip = "vary: accept-encoding; content-encoding: gzip; ";
    let br = "vary: accept-encoding; content-encoding: br; ";
    for (path, accept, lead, body) in [
        ("/zip/none.html", "gzip", "", "none"),
        ("/zip/page.html", "gzip", gzip, "gz version"),
        ("/zip/page.html", "br, gzip", gzip, "gz version"),
        ("/zip/page.html", "", vary, "plain version"),
        ("/zip/page.html", "gzip;q=0", vary, "plain version"),
        ("/zip/stale.html", "gzip", vary, "newer plain version"),
        ("/zip/br.html", "br", br, "brotli version"),
        ("/zip/br.html", "gzip", "", "plain for brotli"),
        ("/zip/both.html", "br, gzip", br, "br both"),
        ("/zip/both.html", "br;q=0.1, gzip;q=1", gzip, "gz both"),
        ("/zip/both.html", "gzip", gzip, "gz both"),
    ] {
        let answer = site.get("GET", path, &[("Accept-Encoding", accept)]);
        assert_eq!(
            answer,
            row(200, &format!("{lead}{HTML}"), body),
            "{path} {accept}"
        );
    }
    let head = site.get("HEAD", "/zip/page.html", &[("Accept-Encoding", "gzip")]);
    assert_eq!(
        head,
        row(200, &format!("{gzip}{HTML}; content-length: 10"), "")
    );
    assert_eq!(
        site.get("GET", "/zip/page.html.gz", &[("Accept-Encoding", "gzip")])
            .1,
        "content-type: application/gzip; accept-ranges: bytes"
    );
}

#[test]
fn entity_tags_when_asked_for() {
    let mut site = Site::new();
    site.config.etag = true;
    let tag_of = |fields: &[(&str, &str)]| {
        let (_, headers, _) = site.get("GET", "/zip/page.html", fields);
        headers
            .split("; ")
            .find_map(|h| h.strip_prefix("etag: ").map(str::to_owned))
            .unwrap()
    };
    let (plain, packed) = (tag_of(&[]), tag_of(&[("Accept-Encoding", "gzip")]));
    assert!(plain != packed && plain.starts_with('"'));
    assert_eq!(
        site.get("GET", "/zip/page.html", &[("If-None-Match", &plain)])
            .0,
        304
    );
    assert_eq!(
        site.get("GET", "/zip/page.html", &[("If-None-Match", &packed)])
            .0,
        200
    );
    assert_eq!(
        site.get("GET", "/zip/page.html", &[("If-Match", &plain)]).0,
        200
    );
    assert_eq!(
        site.get(
            "GET",
            "/zip/page.html",
            &[("Range", "bytes=0-1"), ("If-Range", &plain)]
        )
        .0,
        206
    );
    assert_eq!(
        site.get(
            "GET",
            "/zip/page.html",
            &[("Range", "bytes=0-1"), ("If-Range", &packed)]
        )
        .0,
        200
    );
}

#[test]
fn the_cache_notices_changes_and_keeps_its_budget() {
    let mut site = Site::new();
    let cache = Arc::new(FileCache::new(1500, 500));
    site.cache = Some(Arc::clone(&cache));
    for _ in 0..3 {
        site.get("GET", "/plain.txt", &[]);
    }
    assert_eq!(
        (
            cache.stats().hits,
            cache.stats().misses,
            cache.stats().entries
        ),
        (2, 1, 1)
    );
    site.get("GET", "/digits.txt", &[]);
    // Too large for a copy: its descriptor is kept.
    let before = cache.stats();
    assert_eq!(before.entries, 2);
    assert!(before.bytes < 1000);
    site.get("GET", "/digits.txt", &[]);
    assert_eq!(cache.stats().hits, before.hits + 1);
    site.write_at("plain.txt", "changed", 1);
    assert_eq!(site.get("GET", "/plain.txt", &[]).2, "changed");
    assert_eq!(cache.stats().flushed, 1);
    for n in 0..20 {
        let name = format!("n{n}.txt");
        site.write(&name, "some content");
        assert_eq!(site.get("GET", &format!("/{name}"), &[]).2, "some content");
        assert!(cache.stats().bytes <= 1500);
    }
    assert!(cache.stats().pruned > 0);
    assert!(cache.contents()[0].0.ends_with("n19.txt"));
    cache.clear();
    assert_eq!((cache.stats().entries, cache.stats().bytes), (0, 0));
    site.get("GET", "/digits.txt", &[]);
    assert_eq!(cache.stats().entries, 1);
    fs::remove_file(site.config.pagedir.join("digits.txt")).unwrap();
    assert_eq!(site.get("GET", "/digits.txt", &[]).0, 404);
    assert_eq!(
        cache.stats().entries,
        0,
        "the descriptor of a file that is gone is closed"
    );
}

#[test]
fn a_file_may_be_looked_at_less_often() {
    let mut site = Site::new();
    let cache = FileCache::new(10_000, 500).checking_every(std::time::Duration::from_secs(3600));
    site.cache = Some(Arc::new(cache));
    let before = site.get("GET", "/plain.txt", &[]).2;
    site.write_at("plain.txt", "changed", 1);
    assert_eq!(site.get("GET", "/plain.txt", &[]).2, before);
    let digits = site.get("GET", "/digits.txt", &[]).2;
    fs::remove_file(site.config.pagedir.join("digits.txt")).unwrap();
    assert_eq!(site.get("GET", "/digits.txt", &[]).2, digits);
}

#[test]
fn files_changed_just_now_are_not_kept() {
    let mut site = Site::new();
    let cache = Arc::new(FileCache::new(10_000, 500));
    site.cache = Some(Arc::clone(&cache));
    let age = NOW - http::date::parse(DATE, NOW).unwrap();
    site.write_at("fresh.txt", "one", age);
    site.get("GET", "/fresh.txt", &[]);
    assert_eq!(cache.stats().entries, 0);
}

#[test]
fn any_file_can_be_sent_with_another_status_and_type() {
    let site = Site::new();
    let fastpath = Fastpath::new(site.config.clone(), None);
    let request = b"GET /x HTTP/1.1\r\nHost: x\r\nRange: bytes=0-1\r\nIf-None-Match: *\r\nAccept-Encoding: gzip\r\n\r\n";
    let (head, _) = parse_head(request, &Limits::default()).unwrap().unwrap();
    let file = site.config.pagedir.join("zip/page.html");
    let reply = FileReply {
        file: &file,
        status: 404,
        content_type: Some("text/x-own"),
    };
    let response = fastpath.send_file(&reply, "GET", &head, NOW).unwrap();
    assert_eq!(
        (
            response.head.status,
            response.head.headers.get("content-type")
        ),
        (404, Some("text/x-own"))
    );
    assert_eq!(text(response.content), "plain version");
    let reply = FileReply {
        file: &site.config.pagedir,
        status: 200,
        content_type: None,
    };
    assert!(fastpath.send_file(&reply, "GET", &head, NOW).is_err());
}

#[test]
fn an_open_file_outlives_its_name() {
    let site = Site::new();
    let FileAnswer::Response(response) = site.ask("GET", "/plain.txt", &[]) else {
        panic!("a file");
    };
    fs::remove_file(site.config.pagedir.join("plain.txt")).unwrap();
    assert_eq!(text(response.content).len(), 29);
    let mut left = String::new();
    File::open(site.config.pagedir.join("digits.txt"))
        .unwrap()
        .read_to_string(&mut left)
        .unwrap();
    assert_eq!(left.len(), 1000);
}
