//! What every response gets before it leaves: date, server, extra headers; and the built-in notice pages.

use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;
use http::ResponseHead;
use net::{Content, Response};
use shared::Set;

use crate::driver::DriverEntry;
use crate::vserver::VirtualServer;

/// Adds `date`, `server` and the extra header fields of server and driver, where the response has none of its own.
pub fn dress(headers: &mut Set, server: &VirtualServer, driver: &DriverEntry) {
    if headers.iget("date").is_none() {
        with_date(|date| headers.put("date", date));
    }
    if !server.settings.stealthmode && headers.iget("server").is_none() {
        headers.put("server", crate::identity::server_header());
    }
    for (key, value) in server.extra_headers.iter().chain(&driver.extra_headers) {
        headers.put(key.to_ascii_lowercase(), value);
    }
}

/// The date of now, formatted once a second on each thread.
fn with_date<R>(work: impl FnOnce(&str) -> R) -> R {
    thread_local! {
        static LAST: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
    }
    LAST.with_borrow_mut(|(second, text)| {
        let now = unix_now();
        if *second != now {
            (*second, *text) = (now, http::date::format(now));
        }
        work(text)
    })
}

/// Seconds since 1970.
pub fn unix_now() -> i64 {
    shared::Time::now().sec
}

/// A complete notice page: the answer where no script gives one.
pub fn notice_response(
    server: &Arc<VirtualServer>,
    driver: &DriverEntry,
    status: u16,
    text: &str,
) -> Response {
    let title = http::response::reason(status);
    let mut head = ResponseHead::new(status).with("content-type", "text/html; charset=utf-8");
    dress(&mut head.headers, server, driver);
    let page = notice_page(server, status, title, text);
    if server.settings.compressenable && page.len() as u64 >= server.settings.compressminsize.get()
    {
        // Pages of this kind are not compressed, but those of the same URL that answer otherwise may be.
        head.headers.put("vary", "accept-encoding");
    }
    Response {
        head,
        content: Content::Bytes(Bytes::from(page)),
        close: None,
        on_sent: None,
    }
}

/// The built-in HTML of a notice, padded to `errorminsize` so that old browsers show it.
pub fn notice_page(server: &VirtualServer, status: u16, title: &str, text: &str) -> String {
    let title = http::html::quote(title);
    let heading = if status >= 400 {
        format!("{status} {title}")
    } else {
        title.to_string()
    };
    let signature = if server.settings.stealthmode || !server.settings.noticedetail {
        String::new()
    } else {
        format!(
            "<p class=\"signature\">{}</p>\n",
            crate::identity::server_header()
        )
    };
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{heading}</title>\n\
         <style>body{{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:15vh auto;padding:0 1em;\
         color:#234;background:#f7f9fb}}h1{{font-size:1.6em}}.signature{{color:#678;font-size:.85em;\
         border-top:1px solid #cde;padding-top:.6em}}</style>\n</head>\n<body>\n<h1>{heading}</h1>\n<div>{text}</div>\n\
         {signature}</body>\n</html>\n"
    );
    let least = usize::try_from(server.settings.errorminsize.get()).unwrap_or(0);
    if status >= 400 && page.len() < least {
        page.push_str(&" ".repeat(least - page.len()));
    }
    page
}
