//! Listings of directories as HTML pages.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use http::encode::{Part, encode_bytes};

use super::Listing;

struct Row {
    name: Vec<u8>,
    is_dir: bool,
    len: u64,
    modified: i64,
}

/// A page with links to everything in `dir`, directories first. `url`: the decoded path of the directory with a slash at its end.
///
/// Errors: the directory cannot be read.
pub(super) fn page(
    dir: &Path,
    url: &str,
    style: Listing,
    hide_dot_files: bool,
) -> io::Result<String> {
    let mut rows = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().as_bytes().to_vec();
        if hide_dot_files && name.starts_with(b".") {
            continue;
        }
        // What has gone since, and links to nowhere, are left out.
        let Ok(metadata) = std::fs::metadata(entry.path()) else {
            continue;
        };
        if !metadata.is_file() && !metadata.is_dir() {
            continue;
        }
        let modified = std::os::unix::fs::MetadataExt::mtime(&metadata);
        rows.push(Row {
            name,
            is_dir: metadata.is_dir(),
            len: metadata.len(),
            modified,
        });
    }
    rows.sort_by(|a, b| b.is_dir.cmp(&a.is_dir).then_with(|| a.name.cmp(&b.name)));
    Ok(render(&rows, url, style))
}

fn render(rows: &[Row], url: &str, style: Listing) -> String {
    let title = escape(url);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    let fancy = style == Listing::Fancy;
    page.push_str(if fancy {
        "<table>\n<tr><th>Name</th><th>Size</th><th>Modified</th></tr>\n"
    } else {
        "<ul>\n"
    });
    let (open, close) = if fancy {
        ("<tr><td>", "</td>")
    } else {
        ("<li>", "</li>\n")
    };
    if url != "/" {
        page.push_str(open);
        page.push_str("<a href=\"");
        let parent = url
            .trim_end_matches('/')
            .rsplit_once('/')
            .map_or("", |(parent, _)| parent);
        push_link(&mut page, &format!("{parent}/"), b"", false);
        page.push_str("\">..</a>");
        page.push_str(close);
        if fancy {
            page.push_str("<td></td><td></td></tr>\n");
        }
    }
    for row in rows {
        page.push_str(open);
        page.push_str("<a href=\"");
        push_link(&mut page, url, &row.name, row.is_dir);
        page.push_str("\">");
        page.push_str(&escape(&String::from_utf8_lossy(&row.name)));
        page.push_str(if row.is_dir { "/</a>" } else { "</a>" });
        page.push_str(close);
        if fancy {
            let size = if row.is_dir {
                String::new()
            } else {
                row.len.to_string()
            };
            page.push_str(&format!(
                "<td>{size}</td><td>{}</td></tr>\n",
                http::date::format(row.modified)
            ));
        }
    }
    page.push_str(if fancy { "</table>\n" } else { "</ul>\n" });
    page.push_str("</body>\n</html>\n");
    page
}

/// Appends an absolute link: a relative one would depend on whether the directory was asked for with its slash.
fn push_link(page: &mut String, url: &str, name: &[u8], is_dir: bool) {
    let mut link = String::new();
    encode_bytes(url.as_bytes(), Part::FullPath, true, &mut link);
    encode_bytes(name, Part::Path, true, &mut link);
    if is_dir {
        link.push('/');
    }
    page.push_str(&escape(&link));
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
