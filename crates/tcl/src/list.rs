//! Tcl's list syntax in Rust alone: the same quoting as Tcl's `list`, for threads without an interpreter.
use crate::outcome::TclError;

/// The words as one Tcl list, quoted as `list` quotes them.
pub fn format<T: AsRef<str>>(words: &[T]) -> String {
    let mut out = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        append_word(&mut out, word.as_ref(), index == 0);
    }
    out
}

/// Appends one element to a list under construction.
pub fn append(list: &mut String, word: &str) {
    let first = list.is_empty();
    if !first {
        list.push(' ');
    }
    append_word(list, word, first);
}

/// The elements of a Tcl list, with Tcl's messages for text that is none.
pub fn parse(list: &str) -> Result<Vec<String>, TclError> {
    let bytes = list.as_bytes();
    let mut words = Vec::new();
    let mut at = 0;
    loop {
        while at < bytes.len() && is_space(bytes[at]) {
            at += 1;
        }
        if at >= bytes.len() {
            return Ok(words);
        }
        at = match bytes[at] {
            b'{' => braced(list, at + 1, &mut words)?,
            b'"' => quoted(list, at + 1, &mut words)?,
            _ => bare(list, at, &mut words),
        };
    }
}

fn braced(list: &str, start: usize, words: &mut Vec<String>) -> Result<usize, TclError> {
    let bytes = list.as_bytes();
    let (mut depth, mut at) = (1, start);
    while at < bytes.len() {
        match bytes[at] {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    words.push(list[start..at].to_owned());
                    return closed(list, at + 1, "braces");
                }
            }
            // The pair stays as it is: braces suppress substitution, also of an escaped newline in a list.
            b'\\' => at += 1,
            _ => {}
        }
        at += 1;
    }
    Err(TclError::new("unmatched open brace in list").with_code(&["TCL", "VALUE", "LIST", "BRACE"]))
}

fn quoted(list: &str, start: usize, words: &mut Vec<String>) -> Result<usize, TclError> {
    let bytes = list.as_bytes();
    let mut word = String::new();
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                words.push(word);
                return closed(list, at + 1, "quotes");
            }
            b'\\' => at = unescape(list, at, &mut word),
            _ => at = copy_char(list, at, &mut word),
        }
    }
    Err(TclError::new("unmatched open quote in list").with_code(&["TCL", "VALUE", "LIST", "QUOTE"]))
}

fn bare(list: &str, start: usize, words: &mut Vec<String>) -> usize {
    let bytes = list.as_bytes();
    let mut word = String::new();
    let mut at = start;
    while at < bytes.len() && !is_space(bytes[at]) {
        at = match bytes[at] {
            b'\\' => unescape(list, at, &mut word),
            _ => copy_char(list, at, &mut word),
        };
    }
    words.push(word);
    at
}

fn closed(list: &str, at: usize, kind: &str) -> Result<usize, TclError> {
    let rest = &list.as_bytes()[at..];
    match rest.first() {
        Some(&byte) if !is_space(byte) => {
            let end = rest
                .iter()
                .take(20)
                .position(|&byte| is_space(byte))
                .unwrap_or(rest.len().min(20));
            let shown = String::from_utf8_lossy(&rest[..end]).into_owned();
            Err(TclError::new(format!(
                "list element in {kind} followed by \"{shown}\" instead of space"
            ))
            .with_code(&["TCL", "VALUE", "LIST", "JUNK"]))
        }
        _ => Ok(at),
    }
}

fn copy_char(list: &str, at: usize, word: &mut String) -> usize {
    // `at` is always at a character's beginning: the parser steps over whole characters.
    let character = list[at..].chars().next().unwrap_or('\u{FFFD}');
    word.push(character);
    at + character.len_utf8()
}

/// Tcl's backslash substitution; answers where it ends.
fn unescape(list: &str, at: usize, word: &mut String) -> usize {
    let bytes = list.as_bytes();
    let Some(&kind) = bytes.get(at + 1) else {
        word.push('\\');
        return at + 1;
    };
    let simple = match kind {
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b'f' => '\u{C}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'v' => '\u{B}',
        b'x' => return hex(list, at, 2, word),
        b'u' => return hex(list, at, 4, word),
        b'U' => return hex(list, at, 8, word),
        b'0'..=b'7' => return octal(list, at, word),
        b'\n' => {
            let mut end = at + 2;
            while bytes
                .get(end)
                .is_some_and(|&byte| byte == b' ' || byte == b'\t')
            {
                end += 1;
            }
            word.push(' ');
            return end;
        }
        _ => return copy_char(list, at + 1, word),
    };
    word.push(simple);
    at + 2
}

fn hex(list: &str, at: usize, most: usize, word: &mut String) -> usize {
    let digits = &list.as_bytes()[at + 2..];
    let mut value: u32 = 0;
    let mut count = 0;
    while count < most && digits.get(count).is_some_and(u8::is_ascii_hexdigit) {
        let next = value * 16 + char::from(digits[count]).to_digit(16).unwrap_or(0);
        // \U stops before it leaves Unicode.
        if next > 0x10_FFFF {
            break;
        }
        value = next;
        count += 1;
    }
    if count == 0 {
        return copy_char(list, at + 1, word);
    }
    word.push(char::from_u32(value).unwrap_or('\u{FFFD}'));
    at + 2 + count
}

fn octal(list: &str, at: usize, word: &mut String) -> usize {
    let digits = &list.as_bytes()[at + 1..];
    let (mut value, mut count) = (0u32, 0);
    while count < 3
        && digits
            .get(count)
            .is_some_and(|digit| (b'0'..=b'7').contains(digit))
    {
        let next = value * 8 + u32::from(digits[count] - b'0');
        if next > 0xFF {
            break;
        }
        value = next;
        count += 1;
    }
    word.push(char::from_u32(value).unwrap_or('\u{FFFD}'));
    at + 1 + count
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

/// How an element is protected.
enum Protection {
    None,
    Braces,
    /// Backslashes; braces too when they would not pair.
    Escapes {
        braces: bool,
    },
}

fn append_word(out: &mut String, word: &str, first: bool) {
    match protection(word, first) {
        Protection::None => out.push_str(word),
        Protection::Braces => {
            out.push('{');
            out.push_str(word);
            out.push('}');
        }
        Protection::Escapes { braces } => escape(out, word, first, braces),
    }
}

/// The decision of Tcl's `TclScanElement` (its manual: Tcl_ScanElement, Tcl_Merge).
fn protection(word: &str, first: bool) -> Protection {
    if word.is_empty() {
        return Protection::Braces;
    }
    let bytes = word.as_bytes();
    let (mut forbidden, mut prefers_escape, mut needs_escape, mut prefers_brace) =
        (false, false, false, false);
    let mut depth: i64 = 0;
    if (bytes[0] == b'#' && first) || bytes[0] == b'{' || bytes[0] == b'"' {
        // A list may be evaluated: a leading '#' would begin a comment.
        forbidden = true;
        prefers_brace = true;
    }
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => {
                depth += 1;
            }
            b'}' => {
                depth -= 1;
                if depth < 0 {
                    needs_escape = true;
                }
            }
            b']' | b'"' => {
                forbidden = true;
                prefers_escape = true;
            }
            b'[' | b'$' | b';' | b' ' | 0x09..=0x0D => {
                forbidden = true;
                prefers_brace = true;
            }
            b'\\' => match bytes.get(at + 1) {
                None | Some(b'\n') => {
                    needs_escape = true;
                    at += usize::from(at + 1 < bytes.len());
                }
                Some(b'{' | b'}' | b'\\') => {
                    at += 1;
                    forbidden = true;
                    prefers_brace = true;
                }
                Some(_) => {
                    forbidden = true;
                    prefers_brace = true;
                }
            },
            _ => {}
        }
        at += 1;
    }
    if depth != 0 {
        needs_escape = true;
    }
    if needs_escape {
        return Protection::Escapes { braces: true };
    }
    if forbidden {
        if prefers_escape && !prefers_brace {
            return Protection::Escapes { braces: false };
        }
        return Protection::Braces;
    }
    Protection::None
}

fn escape(out: &mut String, word: &str, first: bool, braces: bool) {
    for (index, character) in word.char_indices() {
        match character {
            ']' | '[' | '$' | ';' | ' ' | '\\' | '"' => {
                out.push('\\');
                out.push(character);
            }
            '{' | '}' => {
                if braces {
                    out.push('\\');
                }
                out.push(character);
            }
            '#' if index == 0 && first => out.push_str("\\#"),
            '\u{C}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{B}' => out.push_str("\\v"),
            _ => out.push(character),
        }
    }
}
