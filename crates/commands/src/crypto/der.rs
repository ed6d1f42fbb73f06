//! As much of DER (X.690) as keys need.

pub const INTEGER: u8 = 0x02;
pub const BITS: u8 = 0x03;
pub const OCTETS: u8 = 0x04;
pub const NULL: u8 = 0x05;
pub const OID: u8 = 0x06;
pub const SEQUENCE: u8 = 0x30;

/// Reads one element after the other.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The tag and the content of the next element; None at the end, and if it is cut off or not in DER.
    pub fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (
                    bytes
                        .iter()
                        .fold(0, |length, b| length << 8 | usize::from(*b)),
                    rest,
                )
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }

    /// The content of the next element, which has this tag.
    pub fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next()
            .filter(|(t, _)| *t == tag)
            .map(|(_, content)| content)
    }

    pub fn sequence(&mut self) -> Option<Reader<'a>> {
        self.expect(SEQUENCE).map(Reader)
    }

    /// A small number that is not negative.
    pub fn number(&mut self) -> Option<u32> {
        let bytes = self.expect(INTEGER)?;
        (bytes.len() <= 5).then(|| {
            bytes
                .iter()
                .try_fold(0u32, |n, b| n.checked_mul(256)?.checked_add(u32::from(*b)))
        })?
    }
}

/// An element whose content are these parts.
pub fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|p| p.len()).sum();
    let mut out = vec![tag];
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let first = bytes.iter().position(|b| *b != 0).unwrap_or(0);
        out.push(0x80 | (bytes.len() - first) as u8);
        out.extend_from_slice(&bytes[first..]);
    }
    parts.iter().for_each(|p| out.extend_from_slice(p));
    out
}

/// An INTEGER that is not negative, from its bytes.
pub fn integer(bytes: &[u8]) -> Vec<u8> {
    let first = bytes.iter().position(|b| *b != 0).unwrap_or(bytes.len());
    let bytes = &bytes[first..];
    match bytes.first() {
        None => element(INTEGER, &[&[0]]),
        Some(0x80..) => element(INTEGER, &[&[0], bytes]),
        Some(_) => element(INTEGER, &[bytes]),
    }
}

/// Bytes of an INTEGER without the zero in front that only tells the sign.
pub fn unsigned(content: &[u8]) -> &[u8] {
    match content {
        [0, rest @ ..] if !rest.is_empty() => rest,
        _ => content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        for length in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x12345] {
            let der = element(OCTETS, &[&vec![7; length]]);
            let mut reader = Reader(&der);
            assert_eq!(reader.expect(OCTETS).map(<[u8]>::len), Some(length));
            assert_eq!(reader.next(), None);
            assert_eq!(Reader(&der[..der.len() - 1]).next(), None);
        }
        assert_eq!(integer(&[0, 0x80]), [2, 2, 0, 0x80]);
    }
}
