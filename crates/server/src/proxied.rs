//! Clients behind a proxy in front of this server: whose address counts (manual page: section ns/reverseproxymode).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use shared::Set;
use synopsis::params;

use crate::process::Process;
use crate::route::Subnet;

params! {
    /// The proxy in front of this server.
    pub struct Settings in "ns/reverseproxymode" {
        /// Take the address of the client from `X-Forwarded-For`.
        enabled: bool = "false",
        /// Pass over addresses in it that are not public.
        skipnonpublic: bool = "false",
        /// Addresses and networks of proxies that are believed; empty: whoever connects is.
        trustedservers: Option<String>,
    }
}

params! {
    /// Older place of `ns/reverseproxymode`.
    pub struct OlderSettings in "ns/parameters/reverseproxymode" {
        /// See there.
        enabled: bool = "false",
        /// See there.
        skipnonpublic: bool = "false",
        /// See there.
        trustedservers: Option<String>,
    }
}

/// Whom to believe. An extension of the process.
#[derive(Debug, Default)]
pub struct Proxied {
    enabled: bool,
    skip_nonpublic: bool,
    trusted: Vec<Subnet>,
}

impl Proxied {
    /// That of the process, read on first use. What is no network is logged and matches nothing.
    pub fn of(process: &Process) -> Arc<Proxied> {
        if let Some(known) = process.extensions.find() {
            return known;
        }
        let older = process.settings().reverseproxymode;
        let proxied = {
            let config = process.config.read();
            let sections = ["ns/reverseproxymode", "ns/parameters/reverseproxymode"];
            let is_on = |name: &str| {
                let value = sections.iter().find_map(|s| config.value(s, name));
                value.is_some_and(|v| {
                    matches!(
                        v.to_ascii_lowercase().as_str(),
                        "1" | "true" | "on" | "yes" | "y" | "t"
                    )
                })
            };
            let networks = sections
                .iter()
                .find_map(|s| config.value(s, "trustedservers"))
                .unwrap_or_default();
            let parse = |text: &str| {
                let network = Subnet::parse(text);
                if network.is_none() {
                    shared::error!(
                        "reverseproxymode: trustedservers: \"{text}\" is no address and no network"
                    );
                }
                network
            };
            Proxied {
                enabled: older || is_on("enabled"),
                skip_nonpublic: is_on("skipnonpublic"),
                trusted: networks
                    .split([' ', '\t', '\n', ',', '{', '}', '"'])
                    .filter(|w| !w.is_empty())
                    .filter_map(parse)
                    .collect(),
            }
        };
        process.extensions.get_or(|| proxied)
    }

    /// Whether an address is that of a proxy of ours.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }

    /// The address of the client that a request comes from.
    ///
    /// With `trustedservers`, each proxy of ours has added who it was asked by: the last address that is none of ours is
    /// the client, and what stands before it is hearsay. Without, the first address is taken, as the reference does,
    /// although anybody can send it.
    pub fn client(&self, peer: IpAddr, headers: &Set) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.enabled || !(self.trusted.is_empty() || self.trusts(peer)) {
            return peer;
        }
        let usable = |a: &IpAddr| !self.skip_nonpublic || is_public(*a);
        if self.trusted.is_empty() {
            return forwarded(headers).find(usable).unwrap_or(peer);
        }
        let all: Vec<IpAddr> = forwarded(headers).collect();
        all.into_iter()
            .rev()
            .filter(usable)
            .find(|a| !self.trusts(*a))
            .unwrap_or(peer)
    }
}

/// The addresses of `X-Forwarded-For`, the supposed client first. What is no address is passed over.
pub fn forwarded(headers: &Set) -> impl Iterator<Item = IpAddr> {
    let words = http::head::values(headers, "x-forwarded-for").flat_map(|value| value.split(','));
    words
        .filter_map(|word| word.trim().parse().ok())
        .map(|address: IpAddr| address.to_canonical())
}

/// As the reference: not the host itself, its link, or networks for private use (RFC 1918, RFC 4193, RFC 3927).
pub fn is_public(ip: IpAddr) -> bool {
    let v4 = |ip: Ipv4Addr| {
        !(ip.octets()[0] == 0 || ip.is_loopback() || ip.is_private() || ip.is_link_local())
    };
    match ip.to_canonical() {
        IpAddr::V4(ip) => v4(ip),
        IpAddr::V6(ip) => !private_v6(ip),
    }
}

fn private_v6(ip: Ipv6Addr) -> bool {
    ip.is_unspecified() || ip.is_loopback() || ip.is_unicast_link_local() || ip.is_unique_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_is_the_last_that_is_not_ours() {
        let networks = |list: &[&str]| {
            list.iter()
                .map(|n| Subnet::parse(n).unwrap())
                .collect::<Vec<_>>()
        };
        let ours = networks(&["10.0.0.0/8", "::1"]);
        let on = |trusted: &[Subnet], skip| Proxied {
            enabled: true,
            skip_nonpublic: skip,
            trusted: trusted.to_vec(),
        };
        for (proxied, peer, header, client) in [
            (Proxied::default(), "10.0.0.1", "8.8.8.8", "10.0.0.1"),
            (on(&[], false), "9.9.9.9", "8.8.8.8, 7.7.7.7", "8.8.8.8"),
            (
                on(&[], false),
                "9.9.9.9",
                "unknown, 192.168.0.1, 7.7.7.7",
                "192.168.0.1",
            ),
            (
                on(&[], true),
                "9.9.9.9",
                "unknown, 192.168.0.1, 7.7.7.7",
                "7.7.7.7",
            ),
            (on(&[], true), "9.9.9.9", "", "9.9.9.9"),
            (
                on(&ours, false),
                "10.0.0.1",
                "1.1.1.1, 8.8.8.8, 10.0.0.2",
                "8.8.8.8",
            ),
            (on(&ours, false), "11.0.0.1", "1.1.1.1", "11.0.0.1"),
            (on(&ours, false), "::1", "10.9.9.9", "::1"),
            (on(&ours, true), "::1", "8.8.8.8, 192.168.1.1", "8.8.8.8"),
        ] {
            let mut headers = Set::unnamed();
            headers.put("X-Forwarded-For", header);
            let found = proxied.client(peer.parse().unwrap(), &headers);
            assert_eq!(found.to_string(), client, "{proxied:?} {peer} {header}");
        }
    }
}
