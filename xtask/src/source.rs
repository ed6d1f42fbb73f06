//! Separates the code of a Rust file from its comments and strings, so that laws can be asked of either.

/// One file in two views of the same lines.
pub struct Source {
    /// What the compiler sees, with strings and characters emptied (`""`, `' '`).
    pub code: Vec<String>,
    /// The comments alone.
    pub comments: Vec<String>,
}

impl Source {
    pub fn parse(text: &str) -> Source {
        let mut code = String::new();
        let mut comments = String::new();
        let chars: Vec<char> = text.chars().collect();
        let mut at = 0;
        while at < chars.len() {
            let rest = &chars[at..];
            let end = at
                + match rest {
                    ['/', '/', ..] => rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
                    ['/', '*', ..] => block_comment(rest),
                    ['"', ..] => string(rest),
                    ['r' | 'b' | 'c', ..] if !in_word(&chars, at) => raw_string(rest).unwrap_or(0),
                    ['\'', ..] => character(rest),
                    _ => 0,
                };
            if end == at {
                code.push(chars[at]);
                if chars[at] == '\n' {
                    comments.push('\n');
                }
                at += 1;
                continue;
            }
            let piece = &chars[at..end];
            if piece[0] == '/' {
                comments.extend(piece);
                code.push(' ');
                code.extend(piece.iter().filter(|c| **c == '\n'));
            } else {
                code.push_str(if piece[0] == '\'' { "' '" } else { "\"\"" });
                for newline in piece.iter().filter(|c| **c == '\n') {
                    code.push(*newline);
                    comments.push(*newline);
                }
            }
            at = end;
        }
        let lines = |text: String| text.split('\n').map(str::to_owned).collect();
        Source {
            code: lines(code),
            comments: lines(comments),
        }
    }

    /// Lines (from one) where the word stands in the code.
    pub fn lines_with_word(&self, word: &str) -> Vec<usize> {
        self.code
            .iter()
            .enumerate()
            .filter(|(_, line)| has_word(line, word))
            .map(|(at, _)| at + 1)
            .collect()
    }
}

/// Whether `word` stands in the line with no letter, digit or underscore beside it.
pub fn has_word(line: &str, word: &str) -> bool {
    positions(line, word).next().is_some()
}

/// Where `word` stands in the line as a whole word, in bytes.
pub fn positions<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .filter(move |(at, _)| {
            !line[..*at].chars().next_back().is_some_and(part)
                && !line[at + word.len()..].chars().next().is_some_and(part)
        })
        .map(|(at, _)| at)
}

fn in_word(chars: &[char], at: usize) -> bool {
    at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_')
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn string(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#`, `b"…"`, `br"…"`, `c"…"`, `b'x'`; nothing when it is a plain word.
fn raw_string(rest: &[char]) -> Option<usize> {
    let prefix = rest
        .iter()
        .take(2)
        .take_while(|c| matches!(c, 'r' | 'b' | 'c'))
        .count();
    let raw = rest[..prefix].contains(&'r');
    let hashes = rest[prefix..].iter().take_while(|c| **c == '#').count();
    match rest.get(prefix + hashes)? {
        '"' if raw => {
            let body = prefix + hashes + 1;
            let mut closing = vec!['"'];
            closing.extend(std::iter::repeat_n('#', hashes));
            let end = rest[body..]
                .windows(closing.len())
                .position(|w| w == closing);
            Some(end.map_or(rest.len(), |end| body + end + closing.len()))
        }
        '"' if hashes == 0 => Some(prefix + string(&rest[prefix..])),
        '\'' if hashes == 0 && rest[0] == 'b' => Some(prefix + character(&rest[prefix..]).max(1)),
        _ => None,
    }
}

/// The length of a character literal; 0 for a lifetime.
fn character(rest: &[char]) -> usize {
    match rest {
        ['\'', '\\', ..] => rest
            .iter()
            .skip(3)
            .position(|c| *c == '\'')
            .map_or(0, |at| at + 4),
        ['\'', _, '\'', ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_no_code() {
        let source = Source::parse(
            "let a = \"unsafe // no\"; // unsafe\n/* unsafe\n/* nested */ */ let b = r#\"un\"safe\"#;\nlet c: &'a str = f('\"', b'\\'', '\\u{22}'); unsafe {}\n",
        );
        assert_eq!(source.lines_with_word("unsafe"), [4]);
        assert_eq!(source.code.len(), 5);
        assert_eq!(source.comments.len(), 5);
        assert!(source.comments[0].contains("// unsafe"));
        assert!(source.code[2].contains("let b"));
        assert!(source.code[3].contains("&'a str"));
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("tcl::Obj", "tcl"));
        assert!(!has_word("unsafe_code", "unsafe"));
        assert!(!has_word("navis_tcl::x", "tcl"));
    }

    #[test]
    fn strings_over_several_lines_keep_the_count() {
        let source = Source::parse("let a = \"x\n y\\\" z\n\";\nunsafe");
        assert_eq!(source.lines_with_word("unsafe"), [4]);
    }
}
