//! Which addresses are public, which belong to this machine and its networks, and which
//! of these the user allows to be reached.
//!
//! Pure. Source: the IANA registries of special-purpose addresses for IPv4 and IPv6.
//!
//! The user lists hosts and networks in `tools.http_get.allow` and in `sandbox.policy.network.allow`.
//! Only a listed address or network permits access to this machine and its networks, because the owner
//! of a name decides which address it resolves to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Returns true if an address is public: not of this machine, its networks, or a cloud's internal
/// services.
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => match inside(ip) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(ip),
        },
    }
}

/// Returns true if an address is of a private network (RFC 1918, RFC 4193).
pub fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_private(),
        IpAddr::V6(ip) => match inside(ip) {
            Some(inner) => inner.is_private(),
            None => ip.is_unique_local(),
        },
    }
}

/// Returns true if a URL names this machine.
pub fn is_this_machine(url: &str) -> bool {
    match Url::parse(url).ok().as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
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

/// The lowest unprivileged port. Below it, only 80 and 443 are HTTP by default.
const LOWEST_FREE: u16 = 1024;
/// Unprivileged ports of other protocols.
const OTHER_PROTOCOLS: [u16; 14] = [
    1433, 1521, 2049, 2375, 2376, 3306, 3389, 5432, 5672, 5900, 6000, 6379, 11211, 27017,
];

/// The listed hosts and networks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostList(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    who: Who,
    /// The port. `None` for the usual ones.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Who {
    /// A network, by its address and prefix length.
    Network(IpAddr, u32),
    /// `localhost`.
    Here,
    Name(String),
    /// Every name below this one.
    Below(String),
}

impl HostList {
    /// Parses the list.
    ///
    /// # Errors
    ///
    /// The first invalid entry, with the valid forms.
    pub fn read(list: &[String]) -> Result<Self, String> {
        let entries = list.iter().map(|entry| {
            Entry::read(entry.trim()).ok_or_else(|| {
                format!(
                    "\"{entry}\" is not a host. Write docs.rs, *.example.org, localhost:8080, \
                     127.0.0.1 or 10.0.0.0/8."
                )
            })
        });
        entries.collect::<Result<_, _>>().map(Self)
    }

    /// Returns true if the user lists the host of an address, as it is written.
    pub fn names(&self, url: &Url) -> bool {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return false;
        };
        self.0
            .iter()
            .any(|entry| entry.who.is_host(&host) && entry.has_port(port, matches!(port, 80 | 443)))
    }

    /// Returns true if the user lists a host for commands. An entry without a port is for the port
    /// `usual`.
    pub fn lists(&self, host: &Host, port: u16, usual: u16) -> bool {
        let mut entries = self.0.iter();
        entries.any(|entry| entry.port.unwrap_or(usual) == port && entry.who.is_host(host))
    }

    /// Returns true if a command may connect to an address to which a listed host leads; see
    /// [`HostList::lists`].
    pub fn opens(&self, ip: IpAddr, port: u16, usual: u16) -> bool {
        let mut entries = self.0.iter();
        is_public(ip)
            || entries.any(|entry| {
                entry.port.unwrap_or(usual) == port && entry.who.holds(ip.to_canonical())
            })
    }

    /// Returns true if the user lists an address of this machine.
    pub fn lists_this_machine(&self) -> bool {
        let own: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let mut entries = self.0.iter();
        entries.any(|entry| own.iter().any(|ip| entry.who.holds(*ip)))
    }

    /// Returns true if an address may be connected to at this port.
    pub(crate) fn reaches(&self, ip: IpAddr, port: u16) -> bool {
        let lists = self.0.iter();
        // `::ffff:127.0.0.1` connects to 127.0.0.1.
        let mut lists = lists.filter(|entry| entry.who.holds(ip.to_canonical()));
        lists.any(|entry| entry.has_port(port, true)) || is_public(ip)
    }

    /// Returns true if a port may be used for HTTP: it is 80, 443, unprivileged and not known for another
    /// protocol, or listed.
    pub(crate) fn speaks(&self, url: &Url, port: u16) -> bool {
        let is_web =
            matches!(port, 80 | 443) || (port >= LOWEST_FREE && !OTHER_PROTOCOLS.contains(&port));
        let is_listed = |entry: &Entry| match (entry.port, url.host()) {
            (Some(listed), Some(Host::Domain(name))) => listed == port && entry.who.is_name(name),
            (Some(listed), Some(_)) => listed == port && self.names(url),
            _ => false,
        };
        is_web || self.0.iter().any(is_listed)
    }
}

impl Entry {
    fn read(entry: &str) -> Option<Self> {
        // First without a port, because an IPv6 address contains colons itself.
        if let Some(who) = Who::read(entry) {
            return Some(Self { who, port: None });
        }
        let (host, port) = entry.rsplit_once(':')?;
        let host = host
            .strip_prefix('[')
            .and_then(|it| it.strip_suffix(']'))
            .unwrap_or(host);
        let port = Some(read_port(port)?);
        Who::read(host).map(|who| Self { who, port })
    }

    /// Returns true if `http_get` may use a port: also any port of an address without one.
    fn has_port(&self, port: u16, is_usual: bool) -> bool {
        let is_near = matches!(self.who, Who::Network(..) | Who::Here);
        self.port
            .map_or(is_usual || is_near, |listed| listed == port)
    }
}

impl Who {
    fn read(text: &str) -> Option<Self> {
        if let Some((address, bits)) = text.split_once('/') {
            return Self::network(address.parse().ok()?, Some(bits.parse().ok()?));
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Self::network(ip, None);
        }
        if text == "localhost" {
            return Some(Self::Here);
        }
        let (below, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        let Host::Domain(host) = read_host(name)? else {
            return None;
        };
        Some(if below {
            Self::Below(host)
        } else {
            Self::Name(host)
        })
    }

    /// A network with this prefix length, or one address. IPv4 in IPv6 is IPv4, as where it is compared.
    fn network(ip: IpAddr, bits: Option<u32>) -> Option<Self> {
        let inner = ip.to_canonical();
        let most = if inner.is_ipv4() { 32 } else { 128 };
        let outside = if ip.is_ipv4() == inner.is_ipv4() {
            0
        } else {
            96
        };
        let bits = bits.map_or(Some(most), |it| it.checked_sub(outside))?;
        (bits <= most).then_some(Self::Network(inner, bits))
    }

    fn is_host<T: AsRef<str>>(&self, host: &Host<T>) -> bool {
        match host {
            Host::Domain(name) => self.is_name(name.as_ref()),
            Host::Ipv4(ip) => self.holds((*ip).into()),
            Host::Ipv6(ip) => self.holds(IpAddr::from(*ip).to_canonical()),
        }
    }

    fn is_name(&self, name: &str) -> bool {
        // A trailing dot makes a name absolute and leads to the same host.
        let name = name.strip_suffix('.').unwrap_or(name);
        match self {
            Self::Name(listed) => listed == name,
            Self::Below(listed) => {
                let rest = name.strip_suffix(listed.as_str());
                // Below the listed name only: neither the name itself nor one that merely ends like
                // it.
                rest.is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            Self::Here => name == "localhost",
            Self::Network(..) => false,
        }
    }

    fn holds(&self, ip: IpAddr) -> bool {
        match (self, ip) {
            (Self::Here, ip) => ip.is_loopback(),
            (Self::Network(IpAddr::V4(net), bits), IpAddr::V4(ip)) => {
                // A prefix of length 0 shifts by all bits, which overflows.
                let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
                net.to_bits() & mask == ip.to_bits() & mask
            }
            (Self::Network(IpAddr::V6(net), bits), IpAddr::V6(ip)) => {
                let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
                net.to_bits() & mask == ip.to_bits() & mask
            }
            _ => false,
        }
    }
}

/// Maximum length of a name and of a label in it, in bytes (RFC 1035).
const LONGEST: (usize, usize) = (253, 63);

/// Parses a host, by the rules of URLs: a name in lower case, as it is looked up and without a
/// final dot, or an address in any spelling. An IPv6 address is in brackets.
pub(crate) fn read_host(text: &str) -> Option<Host> {
    // The library would decode it, and then accept what looks like another host.
    if text.contains('%') {
        return None;
    }
    let name = match Host::parse(text).ok()? {
        Host::Domain(name) => name,
        address @ (Host::Ipv4(_) | Host::Ipv6(_)) => return Some(address),
    };
    let name = name.strip_suffix('.').unwrap_or(&name);
    // The library takes `*` for a character of a name.
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_');
    let is_label = |it: &str| (1..=LONGEST.1).contains(&it.len()) && it.bytes().all(is_plain);
    let is_name = name.len() <= LONGEST.0 && name.split('.').all(is_label);
    is_name.then(|| Host::Domain(name.to_owned()))
}

/// Parses a port: digits, and not 0.
pub(crate) fn read_port(text: &str) -> Option<u16> {
    // `parse` also takes a plus sign.
    let is_plain = text.bytes().all(|it| it.is_ascii_digit());
    text.parse().ok().filter(|port| is_plain && *port != 0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_and_localhost_name_this_machine() {
        for (url, is_here) in [
            ("http://127.0.0.1:8080/v1", true),
            ("http://localhost:11434/v1", true),
            ("http://[::1]:8080/v1", true),
            ("https://api.anthropic.com", false),
            ("http://127.0.0.1.example.com", false),
            ("http://192.168.1.7:8080", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_this_machine(url), is_here, "{url}");
        }
    }

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

    fn allow(list: &[&str]) -> HostList {
        let list: Vec<String> = list.iter().map(|it| (*it).to_owned()).collect();
        HostList::read(&list).unwrap()
    }

    #[test]
    fn a_host_is_compared_as_it_is_connected_to() {
        let list = allow(&[
            "trusted.com",
            "*.example.org",
            "127.0.0.1",
            "api.x.dev:8080",
        ]);
        for url in [
            "https://trusted.com/a",
            "http://TRUSTED.com:80/",
            "https://a.example.org/",
            "https://a.b.example.org/",
            "http://127.0.0.1:9999/",
            "http://2130706433/",
            "http://api.x.dev:8080/",
            "https://trusted.com./",
        ] {
            assert!(list.names(&Url::parse(url).unwrap()), "{url}");
        }
        for url in [
            "http://trusted.com.evil.com",
            "http://trusted.com@evil.com",
            "http://evil.com#trusted.com",
            r"http://evil.com\@trusted.com",
            "http://eviltrusted.com",
            "https://example.org/",
            "https://evilexample.org/",
            "http://localhost/",
            "http://trusted.com:22/",
            "http://api.x.dev/",
            "http://127.0.0.2/",
            "file:///etc/passwd",
        ] {
            assert!(!list.names(&Url::parse(url).unwrap()), "{url}");
        }
    }

    #[test]
    fn a_name_never_opens_what_is_near_and_an_address_does() {
        let reaches =
            |list: &[&str], ip: &str, port| allow(list).reaches(ip.parse().unwrap(), port);
        assert!(!reaches(&["intranet.corp", "*.corp"], "10.0.0.1", 80));
        assert!(reaches(&["10.0.0.0/8"], "10.200.0.1", 1234));
        assert!(
            !reaches(
                &["10.0.0.0/8"],
                "11.0.0.1".replace("11", "192").as_str(),
                80
            ) || is_public("192.0.0.1".parse().unwrap())
        );
        assert!(reaches(&["localhost"], "127.0.0.1", 5000) && reaches(&["localhost"], "::1", 80));
        assert!(reaches(&["127.0.0.1:3000"], "127.0.0.1", 3000));
        assert!(!reaches(&["127.0.0.1:3000"], "127.0.0.1", 3001));
        assert!(reaches(&["127.0.0.1"], "::ffff:127.0.0.1", 80));
        assert!(reaches(&[], "1.1.1.1", 443) && !reaches(&[], "169.254.169.254", 80));
        assert!(reaches(&["fd00::/8"], "fd12::1", 80) && !reaches(&["fd00::/8"], "fe80::1", 80));
    }

    #[test]
    fn other_protocols_have_ports_of_their_own() {
        let speaks = |list: &[&str], url: &str| {
            let url = Url::parse(url).unwrap();
            let port = url.port_or_known_default().unwrap();
            allow(list).speaks(&url, port)
        };
        for port in [22, 25, 110, 3306, 6379] {
            let url = format!("http://a.example:{port}/");
            assert!(!speaks(&["a.example"], &url), "{url}");
            assert!(speaks(&[&format!("a.example:{port}")], &url), "{url}");
        }
        assert!(speaks(&[], "http://a.example:8080/") && speaks(&[], "https://a.example/"));
    }

    #[test]
    fn an_invalid_entry_is_reported() {
        for entry in [
            "http://a.example/",
            "",
            "a b",
            "10.0.0.0/64",
            "*",
            "*.",
            "*.*.example",
            "a.*.example",
            "a:b",
            "a.example:0",
            "a.example:+80",
            "a..example",
            "a.example@b.example",
            "a.example\0",
            "a%2eexample",
            "0x7f.1",
        ] {
            assert!(HostList::read(&[entry.to_owned()]).is_err(), "{entry}");
        }
        let long = "a".repeat(64) + ".example";
        assert!(HostList::read(&[long]).is_err());
    }

    #[test]
    fn a_command_reaches_the_usual_port_of_a_listed_host_or_the_listed_one() {
        let list = allow(&[
            "Docs.rs.",
            "*.example.org",
            "b\u{fc}cher.example",
            "10.1.2.3",
            "::ffff:10.1.3.0/120",
            "[::1]:8080",
            "a.example:8443",
        ]);
        let lists = |host: &str, port| list.lists(&read_host(host).unwrap(), port, 443);
        for (host, port) in [
            ("docs.rs", 443),
            ("DOCS.RS.", 443),
            ("a.example.org", 443),
            ("a.b.example.org", 443),
            ("xn--bcher-kva.example", 443),
            ("10.1.2.3", 443),
            ("0xa.0x1.0x203", 443),
            ("10.1.3.4", 443),
            ("[::ffff:10.1.2.3]", 443),
            ("[0::1]", 8080),
            ("a.example", 8443),
        ] {
            assert!(lists(host, port), "{host}:{port}");
        }
        for (host, port) in [
            ("docs.rs", 80),
            ("a.docs.rs", 443),
            ("docs.rs.evil.example", 443),
            ("evildocs.rs", 443),
            ("example.org", 443),
            ("badexample.org", 443),
            ("10.1.2.4", 443),
            ("10.1.2.3", 80),
            ("localhost", 8080),
            ("[::1]", 443),
            ("a.example", 443),
        ] {
            assert!(!lists(host, port), "{host}:{port}");
        }
        let opens = |ip: &str, port| list.opens(ip.parse().unwrap(), port, 443);
        assert!(opens("1.1.1.1", 443) && opens("10.1.2.3", 443) && opens("::1", 8080));
        assert!(!opens("10.1.2.3", 80) && !opens("127.0.0.1", 8080) && !opens("::1", 443));
        let is_of_this_machine = |entry: &str| allow(&[entry]).lists_this_machine();
        assert!(
            ["localhost", "127.0.0.0/8", "[::1]:80", "127.0.0.1:3000"]
                .into_iter()
                .all(is_of_this_machine)
        );
        assert!(
            !["docs.rs", "10.0.0.0/8", "127.0.0.2"]
                .into_iter()
                .any(is_of_this_machine)
        );
    }
}
