//! Parsers with input that somebody made to hurt: no panic, and time in proportion to the length.

use std::hint::black_box;

use navis_http as http;

use http::charset::Charset;
use http::multipart::{Event, Parser, PartLimits};
use shared::Set;

/// Time of this thread, so that a busy machine does not matter.
fn spent(work: &dyn Fn()) -> f64 {
    let now = || {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
    };
    let one = || {
        let before = now();
        work();
        now() - before
    };
    (0..2).map(|_| one()).fold(f64::INFINITY, f64::min)
}

/// Four times the input may take eight times the time; the square would be sixteen times. With optimization 10 MB take
/// less than a second.
fn is_linear(name: &str, piece: &str, work: impl Fn(&[u8])) {
    let input = |bytes: usize| piece.repeat(bytes / piece.len()).into_bytes();
    let time = |input: &[u8]| spent(&|| work(input));
    let (small, large) = (time(&input(12 << 10)), time(&input(48 << 10)));
    assert!(
        large < 8.0 * small + 0.01,
        "{name} {piece:?}: {small} s, four times as much: {large} s"
    );
    if !cfg!(debug_assertions) {
        let ten = time(&input(10_000_000));
        assert!(ten < 1.0, "{name} {piece:?}: {ten} s for 10 MB");
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the pieces are text")
}

#[test]
fn multipart() {
    let feed = |input: &[u8], step: usize| {
        let mut parser = Parser::new("XbX", &PartLimits::default());
        let mut bytes = 0;
        let mut sink = |event: Event<'_>| {
            if let Event::Data(data) = event {
                bytes += data.len();
            }
            Ok(())
        };
        for piece in input.chunks(step) {
            if parser.feed(piece, &mut sink).is_err() {
                return;
            }
        }
        let _ = black_box(parser.finish(&mut sink));
    };
    let head = "--XbX\r\nContent-Disposition: form-data; name=\"a\"; filename=\"f\"\r\n\r\n";
    for piece in [
        "\n--XbX",
        "\r\n--XbX \t",
        "\n",
        "\r",
        "-",
        "--Xb\n",
        "--XbX\r\nA: b\r\n\r\n",
        "A: b\r\n",
        "\n--XbX-",
        "x;\"\\",
    ] {
        for step in [1 << 16, 1 << 10, 1] {
            is_linear("multipart, preamble", piece, |input| feed(input, step));
            is_linear("multipart, content", piece, |input| {
                feed(&[head.as_bytes(), input].concat(), step)
            });
        }
    }
    // One field in a part's head that goes on for ever.
    for piece in ["; a=\"", "; filename*=utf-8''%", "\\\""] {
        is_linear("multipart, head", piece, |input| {
            feed(
                &[b"--XbX\r\nContent-Disposition: form-data", input].concat(),
                1 << 16,
            );
        });
    }
}

#[test]
fn queries() {
    for piece in [
        "&",
        "=",
        "a=b&",
        "%",
        "%4",
        "%zz",
        "%C3",
        "+",
        "_charset_=utf-8&",
        "%00=%00&",
        "é=é&",
    ] {
        is_linear("query", piece, |input| {
            let mut set = Set::unnamed();
            let _ = black_box(http::form::parse_form(
                input,
                Charset::UTF_8,
                Some(Charset::LATIN_1),
                &mut set,
            ));
        });
    }
}

#[test]
fn cookies() {
    for piece in [";", "=", "a=b;", "a=\"", "\"", " ", "a=%C3;", "a", "\t;"] {
        is_linear("cookies", piece, |input| {
            let mut headers = Set::unnamed();
            headers.put("cookie", text(input));
            black_box(http::cookie::pairs(text(input)).count());
            black_box(
                http::cookie::find(&headers, "a", None)
                    .map(|v| v.len())
                    .sum::<usize>(),
            );
        });
    }
}

#[test]
fn ranges() {
    for piece in [
        ",",
        "0-0,",
        "1-",
        "-1,",
        "9-0,",
        "0-,",
        " ,",
        "18446744073709551615-,",
        "2-2,0-0,",
        "-",
    ] {
        is_linear("range", piece, |input| {
            black_box(http::range::parse(
                &format!("bytes={}", text(input)),
                1 << 40,
            ));
        });
    }
}

#[test]
fn other_fields() {
    for piece in [",", "gzip,", "gzip;q=", ";", "\"", "*", " ", "W/\"a\","] {
        is_linear("accept-encoding", piece, |input| {
            let mut headers = Set::unnamed();
            headers.put("accept-encoding", text(input));
            black_box(http::accept::weight(&headers, http::accept::Coding::Zstd));
        });
        is_linear("if-none-match", piece, |input| {
            let mut headers = Set::unnamed();
            headers.put("if-none-match", text(input));
            let validators = http::conditional::Validators {
                etag: Some("\"x\""),
                last_modified: None,
            };
            black_box(http::conditional::evaluate("GET", &headers, validators, 0));
        });
    }
    for piece in ["Basic ", "=", "a=\"\\", ",", "QQ==", " "] {
        is_linear("authorization", piece, |input| {
            black_box(http::authorization::parse(&format!(
                "Digest {}",
                text(input)
            )));
        });
    }
}
