//! Tcl's `string match`: `*`, `?`, `[a-z]` and `\x`, with and without regard to case.

/// Does `text` match `pattern` by the rules of Tcl's `string match`?
///
/// Inside brackets a backslash is an ordinary character and ranges work in both directions, as in Tcl. The price is at most
/// `pattern` times `text`: only the last `*` is ever retried.
pub fn matches(pattern: &str, text: &str) -> bool {
    run(pattern, text, false)
}

/// The same as [`matches`], without regard to case (`string match -nocase`).
pub fn matches_nocase(pattern: &str, text: &str) -> bool {
    run(pattern, text, true)
}

/// Does the pattern hold a character that is special to [`matches`]? If not, it equals a plain comparison.
pub fn is_pattern(pattern: &str) -> bool {
    pattern
        .bytes()
        .any(|b| matches!(b, b'*' | b'?' | b'[' | b'\\'))
}

fn run(pattern: &str, text: &str, nocase: bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if pattern[p..].starts_with('*') {
            while pattern[p..].starts_with('*') {
                p += 1;
            }
            if p == pattern.len() {
                return true;
            }
            retry = Some((p, t));
            continue;
        }
        let step = match text[t..].chars().next() {
            None if p == pattern.len() => return true,
            // Nothing but `*` matches the end of the text, and giving text back to the star only shortens what is left.
            None => return false,
            Some(c) => one(pattern, p, c, nocase).map(|next| (next, t + c.len_utf8())),
        };
        match (step, retry) {
            (Some((next_p, next_t)), _) => (p, t) = (next_p, next_t),
            (None, None) => return false,
            (None, Some((star, from))) => {
                let Some(skipped) = text[from..].chars().next() else {
                    return false;
                };
                retry = Some((star, from + skipped.len_utf8()));
                (p, t) = (star, from + skipped.len_utf8());
            }
        }
    }
}

/// Matches one character against the element at `p`; the answer is where the pattern goes on.
fn one(pattern: &str, p: usize, c: char, nocase: bool) -> Option<usize> {
    let mut rest = pattern[p..].chars();
    let wanted = match rest.next()? {
        '?' => return Some(p + 1),
        '[' => return bracket(pattern, p + 1, c, nocase),
        '\\' => rest.next()?,
        plain => plain,
    };
    (fold(wanted, nocase) == fold(c, nocase)).then(|| pattern.len() - rest.as_str().len())
}

/// Inside `[...]`. An end that is missing is forgiven once the character has matched, as Tcl does.
fn bracket(pattern: &str, p: usize, c: char, nocase: bool) -> Option<usize> {
    let c = fold(c, nocase);
    let mut rest = pattern[p..].chars();
    loop {
        let first = rest.next().filter(|&first| first != ']')?;
        let first = fold(first, nocase);
        let hit = if rest.as_str().starts_with('-') {
            rest.next();
            let last = fold(rest.next()?, nocase);
            (first <= c && c <= last) || (last <= c && c <= first)
        } else {
            first == c
        };
        if hit {
            let at = pattern.len() - rest.as_str().len();
            return Some(
                rest.as_str()
                    .find(']')
                    .map_or(pattern.len(), |end| at + end + 1),
            );
        }
    }
}

fn fold(c: char, nocase: bool) -> char {
    if !nocase {
        return c;
    }
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tcl_examples() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("a*b*c", "aXbYbZc", true),
            ("?", "ü", true),
            ("?", "", false),
            ("[a-c]x", "bx", true),
            ("[c-a]x", "bx", true),
            ("[abc", "b", true),
            ("[a-", "a", false),
            ("[]a]", "a", false),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("\\", "\\", false),
            ("[\\]", "\\", true),
            ("**a", "bba", true),
            ("*[ab]", "xxb", true),
            ("[ab-]c]", "ac]", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} against {text}");
        }
        assert!(matches_nocase("A*[X-Z]", "aby"));
        assert!(matches_nocase("Ä", "ä"));
        assert!(!matches("A", "a"));
    }

    /// The definition, spelled out with recursion.
    fn naive(pattern: &str, text: &str) -> bool {
        if let Some(rest) = pattern.strip_prefix('*') {
            return text
                .char_indices()
                .map(|(i, _)| i)
                .chain([text.len()])
                .any(|i| naive(rest, &text[i..]));
        }
        match text.chars().next() {
            None => pattern.is_empty(),
            Some(c) => one(pattern, 0, c, false)
                .is_some_and(|p| naive(&pattern[p..], &text[c.len_utf8()..])),
        }
    }

    proptest! {
        #[test]
        fn equals_the_definition(pattern in "[ab*?\\[\\]\\\\-]{0,7}", text in "[abü\\-\\]]{0,7}") {
            prop_assert_eq!(matches(&pattern, &text), naive(&pattern, &text));
        }
    }
}
