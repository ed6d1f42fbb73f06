//! From JSON text to a tree of values (RFC 8259), strictly.

use std::fmt;

/// A JSON value. Numbers keep their text, objects the order and the repetitions of their members.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// What a text may contain. 0 is no limit.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Nested arrays and objects; never more than [`DEEPEST`].
    pub depth: usize,
    /// Bytes of a string, after its escapes are resolved.
    pub string: usize,
    /// Elements of an array or members of an object.
    pub container: usize,
    /// Whether numbers with a fraction or an exponent have to fit into a double.
    pub finite: bool,
    /// Whether the value has to be an array or an object.
    pub container_only: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            depth: 1000,
            string: 0,
            container: 0,
            finite: false,
            container_only: false,
        }
    }
}

/// The deepest nesting that is taken, whatever a script allows: what works on values afterwards, Tcl included, needs
/// stack for every level.
pub const DEEPEST: usize = 1000;

/// What is wrong, and at which byte.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    pub at: usize,
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ns_json: parse error at byte {}: {}", self.at, self.what)
    }
}

impl From<Problem> for tcl::Exit {
    fn from(problem: Problem) -> tcl::Exit {
        tcl::error(problem.to_string())
    }
}

/// The value at the beginning of `text`, and how many bytes it takes with the white space in front of it.
pub fn parse_prefix(text: &str, limits: &Limits) -> Result<(Value, usize), Problem> {
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        at: 0,
        limits,
    };
    parser.skip_space();
    if limits.container_only && !matches!(parser.peek(), Some(b'{' | b'[') | None) {
        return Err(parser.problem("top-level value must be object or array (-top container)"));
    }
    let value = parser.value()?;
    Ok((value, parser.at))
}

/// The value that `text` is.
///
/// # Errors
/// `text` is no JSON, or something follows the value; then `what` names the command.
pub fn parse(text: &str, limits: &Limits) -> Result<Value, tcl::Exit> {
    let (value, end) = parse_prefix(text, limits)?;
    let rest = text[end..].trim_start_matches([' ', '\t', '\n', '\r']);
    if !rest.is_empty() {
        return Err(tcl::error(format!(
            "ns_json parse: trailing data at byte {}",
            text.len() - rest.len()
        )));
    }
    Ok(value)
}

/// Checks that a text is one number as JSON writes it.
pub fn check_number(text: &str) -> Result<(), Problem> {
    let end = number_end(text.as_bytes(), 0)?;
    if end < text.len() {
        Err(Problem {
            at: end,
            what: "invalid number".to_owned(),
        })
    } else {
        Ok(())
    }
}

/// Where the number that begins at `start` ends.
fn number_end(bytes: &[u8], start: usize) -> Result<usize, Problem> {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let digits = |mut at: usize| {
        while digit(at) {
            at += 1;
        }
        at
    };
    let invalid = |at: usize| Problem {
        at,
        what: "invalid number".to_owned(),
    };
    let mut at = start;
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    match bytes.get(at) {
        None => {
            return Err(Problem {
                at,
                what: "unexpected end in number".to_owned(),
            });
        }
        Some(b'0') if digit(at + 1) => return Err(invalid(at + 1)),
        Some(b'0') => at += 1,
        Some(b'1'..=b'9') => at = digits(at),
        Some(_) => return Err(invalid(at)),
    }
    if bytes.get(at) == Some(&b'.') {
        if !digit(at + 1) {
            return Err(invalid(at));
        }
        at = digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let first = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        if !digit(first) {
            return Err(invalid(at));
        }
        at = digits(first);
    }
    Ok(at)
}

/// A container that is not complete; of an object also the key whose value comes next.
enum Open {
    Array(Vec<Value>),
    Object(Vec<(String, Value)>, String),
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    limits: &'a Limits,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn problem(&self, what: impl Into<String>) -> Problem {
        Problem {
            at: self.at,
            what: what.into(),
        }
    }

    fn unexpected(&self) -> Problem {
        match self
            .text
            .get(self.at..)
            .and_then(|rest| rest.chars().next())
        {
            Some(c) => self.problem(format!("unexpected character '{c}'")),
            None => self.problem("unexpected end of input"),
        }
    }

    /// A value with all that is in it. It keeps a stack of its own: texts come from outside and may be nested deeply.
    fn value(&mut self) -> Result<Value, Problem> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let mut value = match self.peek() {
                Some(b'{') => {
                    if self.opens(b'}', open.len())? {
                        let key = self.key()?;
                        open.push(Open::Object(Vec::new(), key));
                        continue;
                    }
                    Value::Object(Vec::new())
                }
                Some(b'[') => {
                    if self.opens(b']', open.len())? {
                        open.push(Open::Array(Vec::new()));
                        continue;
                    }
                    Value::Array(Vec::new())
                }
                Some(b'"') => self.string().map(Value::Text)?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal("true", Value::Bool(true))?,
                Some(b'f') => self.literal("false", Value::Bool(false))?,
                Some(b'n') => self.literal("null", Value::Null)?,
                _ => return Err(self.unexpected()),
            };
            loop {
                match open.pop() {
                    None => return Ok(value),
                    Some(Open::Array(mut elements)) => {
                        elements.push(value);
                        self.check_count(elements.len())?;
                        if !self.closes(b']', "expected ',' or ']'")? {
                            open.push(Open::Array(elements));
                            break;
                        }
                        value = Value::Array(elements);
                    }
                    Some(Open::Object(mut members, key)) => {
                        members.push((key, value));
                        self.check_count(members.len())?;
                        if !self.closes(b'}', "expected ',' or '}'")? {
                            let key = self.key()?;
                            open.push(Open::Object(members, key));
                            break;
                        }
                        value = Value::Object(members);
                    }
                }
            }
        }
    }

    /// Behind the bracket that opens a container: whether something is in it.
    fn opens(&mut self, close: u8, depth: usize) -> Result<bool, Problem> {
        let most = if self.limits.depth == 0 {
            DEEPEST
        } else {
            self.limits.depth.min(DEEPEST)
        };
        if depth == most {
            return Err(self.problem("max depth exceeded"));
        }
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(false);
        }
        Ok(true)
    }

    fn key(&mut self) -> Result<String, Problem> {
        if self.peek() != Some(b'"') {
            return Err(self.problem("expected \""));
        }
        let key = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.problem("expected ':'"));
        }
        self.at += 1;
        self.skip_space();
        Ok(key)
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value, Problem> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.problem("invalid literal"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, Problem> {
        let start = self.at;
        let end = number_end(self.bytes, start)?;
        let number = &self.text[start..end];
        if self.limits.finite && number.contains(['.', 'e', 'E']) {
            let double: f64 = number.parse().unwrap_or(f64::NAN);
            if !double.is_finite() {
                let shown = if double < 0.0 { "-Inf" } else { "Inf" };
                return Err(self.problem(format!("number is not a finite Tcl double ({shown})")));
            }
        }
        self.at = end;
        Ok(Value::Number(number.to_owned()))
    }

    fn check_count(&self, count: usize) -> Result<(), Problem> {
        if self.limits.container > 0 && count > self.limits.container {
            return Err(self.problem("max container size exceeded"));
        }
        Ok(())
    }

    /// Behind an element: whether this was the last one.
    fn closes(&mut self, bracket: u8, expected: &str) -> Result<bool, Problem> {
        self.skip_space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_space();
                Ok(false)
            }
            Some(b) if b == bracket => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(self.problem(expected)),
        }
    }

    fn string(&mut self) -> Result<String, Problem> {
        self.at += 1;
        let start = self.at;
        let mut out = String::new();
        let mut plain = start;
        loop {
            match self.peek() {
                None => return Err(self.problem("unterminated string")),
                Some(b'"') => {
                    out.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    break;
                }
                Some(b'\\') => {
                    out.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    out.push(self.escape()?);
                    plain = self.at;
                }
                Some(0..=0x1f) => return Err(self.problem("unescaped control character in string")),
                Some(_) => self.at += 1,
            }
        }
        let most = self.limits.string;
        if most > 0 && out.len() > most {
            return Err(Problem {
                at: start,
                what: format!("string too long (max {most})"),
            });
        }
        Ok(out)
    }

    /// Behind a backslash.
    fn escape(&mut self) -> Result<char, Problem> {
        let Some(byte) = self.peek() else {
            return Err(self.problem("unterminated string"));
        };
        let c = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => {
                let c = self.text[self.at..].chars().next().unwrap_or_default();
                return Err(self.problem(format!("invalid escape '\\{c}'")));
            }
        };
        self.at += 1;
        Ok(c)
    }

    /// Behind `\u`: a character, or the first half of a pair, which needs its second.
    fn unicode(&mut self) -> Result<char, Problem> {
        let first = self.hex4()?;
        let code = match first {
            0xd800..=0xdbff => {
                let here = self.at;
                if !self.bytes[here..].starts_with(b"\\u") {
                    return Err(self.problem("missing low surrogate"));
                }
                self.at += 2;
                let second = self.hex4()?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(Problem {
                        at: here,
                        what: "missing low surrogate".to_owned(),
                    });
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            0xdc00..=0xdfff => {
                return Err(Problem {
                    at: self.at - 1,
                    what: "unexpected low surrogate".to_owned(),
                });
            }
            code => code,
        };
        char::from_u32(code).ok_or_else(|| self.problem("invalid unicode escape"))
    }

    fn hex4(&mut self) -> Result<u32, Problem> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| char::from(b).to_digit(16));
            code = code << 4 | digit.ok_or_else(|| self.problem("invalid unicode escape"))?;
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Result<Value, String> {
        let (value, end) = parse_prefix(text, &Limits::default()).map_err(|p| p.to_string())?;
        if end < text.len() {
            Err(format!("ends at {end}"))
        } else {
            Ok(value)
        }
    }

    #[test]
    fn values() {
        assert_eq!(whole("-0.5e+3"), Ok(Value::Number("-0.5e+3".to_owned())));
        assert_eq!(
            whole(r#""\ud83d\ude00\n""#),
            Ok(Value::Text("😀\n".to_owned()))
        );
        assert_eq!(
            whole(r#"{"a":[true,null],"a":1}"#),
            Ok(Value::Object(vec![
                (
                    "a".to_owned(),
                    Value::Array(vec![Value::Bool(true), Value::Null])
                ),
                ("a".to_owned(), Value::Number("1".to_owned())),
            ]))
        );
    }

    #[test]
    fn what_is_no_json() {
        for text in [
            "",
            "01",
            "1.",
            "+1",
            "nul",
            "[1,]",
            "{a:1}",
            "\"\\ud83d\"",
            "\"\t\"",
            "[",
            "{\"a\"",
            "'a'",
            "\u{e9}",
        ] {
            assert!(whole(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nesting_is_limited_whatever_the_caller_wants() {
        let text = "[".repeat(1_000_000);
        let limits = Limits {
            depth: 0,
            ..Limits::default()
        };
        assert_eq!(parse_prefix(&text, &limits).map_err(|p| p.at), Err(DEEPEST));
    }
}
