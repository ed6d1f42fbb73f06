//! Addresses and hosts.

use std::net::{IpAddr, ToSocketAddrs};

use ::server::proxied::{Proxied, is_public};
use synopsis::{Call, choice, commands};
use tcl::{Exit, Obj};

use crate::kinds::context;

choice! {
    /// Versions of the Internet protocol.
    pub enum IpVersion { V4 = "ipv4", V6 = "ipv6" }
}

commands! { TABLE(call):

    /// Whether an address means all addresses of the host.
    "ns_ip inany" (ipaddr: String)
        => Ok::<_, Exit>(address(&ipaddr)?.is_unspecified());

    /// Whether an address lies in a network.
    "ns_ip match" (cidr: String, ipaddr: String)
        => network_contains(&cidr, &ipaddr);

    /// What kind of address it is.
    "ns_ip properties" (ipaddr: String)
        => properties(call, &ipaddr);

    /// Whether an address is reachable from everywhere.
    "ns_ip public" (ipaddr: String)
        => Ok::<_, Exit>(is_public(address(&ipaddr)?));

    /// Whether an address is that of a reverse proxy we trust.
    "ns_ip trusted" (ipaddr: String)
        => Ok::<_, Exit>(Proxied::of(&context(call).process).trusts(address(&ipaddr)?));

    /// Whether it is an address.
    "ns_ip valid" [-r#type: Option<IpVersion>, --] (ipaddr: String)
        => is_valid(&ipaddr, r#type);

    /// Whether an address lies in a network.
    #[deprecated("use ns_ip match")]
    #[style(proc)]
    "ns_subnetmatch" (cidr: String, ipaddr: String)
        => network_contains(&cidr, &ipaddr);

    /// The addresses of a host.
    "ns_addrbyhost" [-all: bool, --] (hostname: String)
        => addresses(&hostname, all);

    /// The name of the host with an address.
    "ns_hostbyaddr" (address: String)
        => host_name(&address);
}

fn address(text: &str) -> Result<IpAddr, Exit> {
    text.parse()
        .map_err(|_| tcl::error(format!("'{text}' is not a valid IPv4 or IPv6 address")))
}

/// A network as 128 bits and the number of them that count; IPv4 lies within `::ffff:0:0/96`.
fn network(cidr: &str) -> Result<Option<(u128, u32)>, Exit> {
    let invalid = || {
        tcl::error(format!(
            "'{cidr}' is not a valid CIDR string for IPv4 or IPv6"
        ))
    };
    let (base, bits) = cidr
        .split_once('/')
        .map_or((cidr, None), |(base, bits)| (base, Some(bits)));
    let base: IpAddr = base.parse().map_err(|_| invalid())?;
    let most = if base.is_ipv4() { 32 } else { 128 };
    let bits: i64 = match bits {
        None => most,
        Some(bits) => bits.parse().map_err(|_| invalid())?,
    };
    // Lengths that no network has match nothing.
    let Some(bits) = u32::try_from(bits)
        .ok()
        .filter(|bits| i64::from(*bits) <= most)
    else {
        return Ok(None);
    };
    Ok(Some((
        bits_of(base),
        if base.is_ipv4() { bits + 96 } else { bits },
    )))
}

fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

fn network_contains(cidr: &str, ip: &str) -> Result<bool, Exit> {
    let network = network(cidr)?;
    let ip = bits_of(address(ip)?);
    Ok(network.is_some_and(|(base, bits)| {
        let shift = 128 - bits;
        // A shift by all 128 bits leaves nothing that could differ.
        (base ^ ip).checked_shr(shift).unwrap_or(0) == 0
    }))
}

fn properties(call: &Call<'_>, text: &str) -> Result<Obj, Exit> {
    let ip = address(text)?;
    Ok(Obj::list([
        Obj::from("public"),
        Obj::from(is_public(ip)),
        Obj::from("trusted"),
        Obj::from(Proxied::of(&context(call).process).trusts(ip)),
        Obj::from("inany"),
        Obj::from(ip.is_unspecified()),
        Obj::from("type"),
        Obj::from(if ip.is_ipv4() { "IPv4" } else { "IPv6" }),
    ]))
}

fn is_valid(text: &str, version: Option<IpVersion>) -> bool {
    text.parse().is_ok_and(|ip: IpAddr| match version {
        None => true,
        Some(IpVersion::V4) => ip.is_ipv4(),
        Some(IpVersion::V6) => ip.is_ipv6(),
    })
}

fn addresses(host: &str, all: bool) -> Result<Obj, Exit> {
    let mut found: Vec<String> = Vec::new();
    for address in (host, 0).to_socket_addrs().into_iter().flatten() {
        let address = address.ip().to_string();
        if !found.contains(&address) {
            found.push(address);
        }
    }
    match found.into_iter() {
        found if found.len() == 0 => Err(tcl::error(format!("could not lookup {host}"))),
        found if all => Ok(Obj::list_of(found)),
        mut found => Ok(Obj::from(found.next().unwrap_or_default())),
    }
}

fn host_name(text: &str) -> Result<String, Exit> {
    let failed = || tcl::error(format!("could not lookup {text}"));
    let ip: IpAddr = text.parse().map_err(|_| failed())?;
    let name = dns_lookup::lookup_addr(&ip).map_err(|_| failed())?;
    // Without a name the library answers with the address.
    if name == text {
        Err(failed())
    } else {
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        let test = |cidr, ip| network_contains(cidr, ip).ok();
        assert_eq!(test("::/0", "10.0.0.1"), Some(true));
        assert_eq!(test("0.0.0.0/0", "8.8.8.8"), Some(true));
        assert_eq!(test("0.0.0.0/0", "::1"), Some(false));
        assert_eq!(test("10.0.0.0/33", "10.0.0.1"), Some(false));
        assert_eq!(test("::ffff:10.0.0.0/104", "10.1.1.1"), Some(true));
        assert_eq!(test("10.0.0.0/x", "10.0.0.1"), None);
    }
}
