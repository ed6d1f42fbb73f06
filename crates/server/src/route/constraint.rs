//! Context constraints of the URL space: header patterns and client addresses under which a registration applies.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use shared::Set;

/// What constraints are compared with (manual page ns_urlspace, "Context Constraints").
pub trait Context {
    /// First value of a request header field; names without regard to case.
    fn header(&self, name: &str) -> Option<&str>;
    /// Address of the client, for constraints on `x-ns-ip`.
    fn address(&self) -> Option<IpAddr>;
}

/// The context of a live request: its header fields and the address of its peer.
///
/// A header field `X-NS-ip` sent by the client has no say: the address is that of the socket.
pub struct RequestContext<'a> {
    pub headers: &'a Set,
    pub peer: IpAddr,
}

impl Context for RequestContext<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iget(name)
    }

    fn address(&self) -> Option<IpAddr> {
        Some(self.peer)
    }
}

/// The context that a script hands over as a set: header fields and the pseudo field `x-ns-ip`.
impl Context for Set {
    fn header(&self, name: &str) -> Option<&str> {
        self.iget(name)
    }

    fn address(&self) -> Option<IpAddr> {
        self.iget(ADDRESS)?.parse().ok()
    }
}

/// A conjunction of constraints; all must hold. Empty: holds always.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    list: Vec<Constraint>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Constraint {
    key: String,
    value: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Header,
    Subnet(Subnet),
    /// A pattern for the address as text, such as `10.0.*`.
    AddressText,
}

const ADDRESS: &str = "x-ns-ip";

impl Constraints {
    /// From the elements of a flat list of names and patterns.
    ///
    /// Errors: the message of the reference for a list of odd length, where `source` is the list as written.
    pub fn parse<S: AsRef<str>>(elements: &[S], source: &str) -> Result<Constraints, String> {
        if !elements.len().is_multiple_of(2) {
            return Err(format!(
                "invalid context constraints '{source}': must be a key/value list"
            ));
        }
        let list = elements
            .chunks_exact(2)
            .map(|pair| Constraint::new(pair[0].as_ref(), pair[1].as_ref()))
            .collect();
        Ok(Constraints { list })
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Names and patterns as they were registered.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.list.iter().map(|c| (c.key.as_str(), c.value.as_str()))
    }

    /// Do all of them hold? Without a context only the empty conjunction does.
    pub fn hold(&self, context: Option<&dyn Context>) -> bool {
        match context {
            None => self.list.is_empty(),
            Some(context) => self.list.iter().all(|c| c.holds(context)),
        }
    }

    /// Order of preference among those that hold: more conditions first, then the narrower subnet, then the longer patterns.
    pub(super) fn specificity(&self) -> (usize, u32, usize) {
        let bits = self.list.iter().map(|c| match &c.test {
            Test::Subnet(subnet) => u32::from(subnet.bits),
            _ => 0,
        });
        (
            self.list.len(),
            bits.sum(),
            self.list.iter().map(|c| c.value.len()).sum(),
        )
    }
}

impl Constraint {
    fn new(key: &str, value: &str) -> Constraint {
        let test = if !key.eq_ignore_ascii_case(ADDRESS) {
            Test::Header
        } else {
            Subnet::parse(value).map_or(Test::AddressText, Test::Subnet)
        };
        Constraint {
            key: key.to_owned(),
            value: value.to_owned(),
            test,
        }
    }

    fn holds(&self, context: &dyn Context) -> bool {
        match &self.test {
            Test::Header => context
                .header(&self.key)
                .is_some_and(|v| shared::glob::matches(&self.value, v)),
            Test::Subnet(subnet) => context.address().is_some_and(|a| subnet.contains(a)),
            Test::AddressText => context
                .address()
                .is_some_and(|a| shared::glob::matches(&self.value, &a.to_canonical().to_string())),
        }
    }
}

/// An address with the number of bits that count, as in `10.0.0.0/8`; without a slash: a single address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    address: IpAddr,
    bits: u8,
}

impl Subnet {
    /// The part behind the slash is a number of bits, or a mask such as `255.0.0.0`.
    pub fn parse(text: &str) -> Option<Subnet> {
        let (address, mask) = match text.split_once('/') {
            Some((address, mask)) => (address, Some(mask)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let width: u8 = if address.is_ipv4() { 32 } else { 128 };
        let bits = match mask {
            None => width,
            Some(mask) => match mask.parse::<u8>() {
                Ok(bits) => bits,
                Err(_) => mask_bits(mask.parse().ok()?)?,
            },
        };
        (bits <= width).then_some(Subnet { address, bits })
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        // A client may appear as ::ffff:127.0.0.1 on a listener for both families.
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same_head(v4(a), v4(b), self.bits),
            (IpAddr::V6(a), IpAddr::V6(b)) => same_head(v6(a), v6(b), self.bits),
            (IpAddr::V6(a), IpAddr::V4(b)) => same_head(v6(a), v6(b.to_ipv6_mapped()), self.bits),
            (IpAddr::V4(_), IpAddr::V6(_)) => false,
        }
    }
}

/// Addresses as numbers whose first bit is the most significant one.
fn v4(a: Ipv4Addr) -> u128 {
    u128::from(u32::from(a)) << 96
}

fn v6(a: Ipv6Addr) -> u128 {
    u128::from(a)
}

fn same_head(a: u128, b: u128, bits: u8) -> bool {
    bits == 0 || (a ^ b) >> (128 - u32::from(bits)) == 0
}

/// The number of bits of a mask written as an address; none if the ones are not all in front.
fn mask_bits(mask: IpAddr) -> Option<u8> {
    let (value, width) = match mask {
        IpAddr::V4(a) => (v4(a), 32),
        IpAddr::V6(a) => (v6(a), 128),
    };
    let ones = value.leading_ones().min(width);
    (value.count_ones() == ones).then_some(ones as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constraints(pairs: &[&str]) -> Constraints {
        Constraints::parse(pairs, "").unwrap()
    }

    #[test]
    fn subnets() {
        for (subnet, address, inside) in [
            ("127.0.0.0/8", "127.0.0.1", true),
            ("127.0.0.0/8", "::ffff:127.0.0.1", true),
            ("127.0.0.0/8", "128.0.0.1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("10.0.0.0/255.0.0.0", "10.1.2.3", true),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::ffff:10.0.0.0/104", "10.9.9.9", true),
            ("10.0.*", "10.0.7.1", true),
            ("10.0.0.0/33", "10.0.0.0", false),
        ] {
            let headers = Set::unnamed();
            let context = RequestContext {
                headers: &headers,
                peer: address.parse().unwrap(),
            };
            assert_eq!(
                constraints(&["X-NS-ip", subnet]).hold(Some(&context)),
                inside,
                "{subnet} {address}"
            );
        }
    }

    #[test]
    fn a_client_cannot_choose_its_address() {
        let headers = Set::from_pairs("", [("x-ns-ip", "10.0.0.1")]);
        let context = RequestContext {
            headers: &headers,
            peer: "192.0.2.1".parse().unwrap(),
        };
        assert!(!constraints(&["x-ns-ip", "10.0.0.0/8"]).hold(Some(&context)));
        assert!(
            constraints(&["x-ns-ip", "10.0.0.0/8"]).hold(Some(&headers)),
            "a script's set may"
        );
    }

    #[test]
    fn all_must_hold() {
        let set = Set::from_pairs("", [("User-Agent", "my crawler"), ("X-Mode", "special")]);
        assert!(constraints(&["user-agent", "*crawler*", "x-mode", "special"]).hold(Some(&set)));
        assert!(!constraints(&["user-agent", "*crawler*", "x-mode", "other"]).hold(Some(&set)));
        assert!(
            !constraints(&["accept", "*"]).hold(Some(&set)),
            "a missing field matches nothing"
        );
        assert!(!constraints(&["user-agent", "*"]).hold(None));
        assert!(constraints(&[]).hold(None));
        assert_eq!(
            Constraints::parse(&["a"], "a").unwrap_err(),
            "invalid context constraints 'a': must be a key/value list"
        );
    }
}
