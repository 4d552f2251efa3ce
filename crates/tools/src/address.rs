//! Which addresses are public, which belong to this machine and its networks, and which
//! of these the user allows to be reached.
//!
//! Pure. Source: the IANA registries of special-purpose addresses for IPv4 and IPv6.

mod allow;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use allow::HttpAllow;

/// Whether an address is public: not of this machine, its networks, or a cloud's internal
/// services.
pub(crate) fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => match inside(ip) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(ip),
        },
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    !(matches!(a, 0 | 10 | 127)
        // Multicast, reserved, and broadcast.
        || a >= 224
        // Addresses that providers share among customers (RFC 6598).
        || (a == 100 && (64..128).contains(&b))
        // Link-local. At 169.254.169.254, most clouds serve the machine's credentials.
        || (a == 169 && b == 254)
        || (a == 172 && (16..32).contains(&b))
        || (a == 192 && b == 168)
        // Protocol assignments (RFC 6890), and documentation.
        || (a == 192 && b == 0 && matches!(c, 0 | 2))
        // Relays of 6to4, which are deprecated (RFC 7526).
        || (a == 192 && b == 88 && c == 99)
        // Benchmarks (RFC 2544).
        || (a == 198 && matches!(b, 18 | 19))
        // Documentation (RFC 5737).
        || (a == 198 && b == 51 && c == 100)
        || (a == 203 && b == 0 && c == 113))
}

/// Only 2000::/3 is given out, and not all of it.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [first, second, ..] = ip.segments();
    // 2001::/23 has protocols such as Teredo, and 2001:db8::/32 documentation.
    let special = first == 0x2001 && (second < 0x0200 || second == 0x0db8);
    // 3fff::/20 has documentation too (RFC 9637).
    (0x2000..0x4000).contains(&first) && !special && first != 0x3fff
}

/// The IPv4 address that is embedded in an IPv6 address, in any of the standard ways.
fn inside(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = ip.segments();
    let of = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    // A gateway or tunnel connects to the inner address, so that is the one to check.
    match (a, b, c, d, e, f) {
        // Mapped, translated and compatible.
        (0, 0, 0, 0, 0, 0xffff | 0) | (0, 0, 0, 0, 0xffff, 0) => Some(of(g, h)),
        // NAT64, and its local form.
        (0x64, 0xff9b, 0, 0, 0, 0) | (0x64, 0xff9b, 1, ..) => Some(of(g, h)),
        // 6to4.
        (0x2002, high, low, ..) => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_near_is_not_public() {
        for ip in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.2.1",
            "192.0.0.8",
            "203.0.113.9",
            "240.0.0.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "::127.0.0.1",
            "2001:db8::1",
            "2001::1",
            "fec0::1",
            "100::1",
        ] {
            assert!(!is_public(ip.parse().unwrap()), "{ip}");
        }
        for ip in [
            "1.1.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "169.253.1.1",
            "192.167.1.1",
            "198.20.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(is_public(ip.parse().unwrap()), "{ip}");
        }
    }
}
