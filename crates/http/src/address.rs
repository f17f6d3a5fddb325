//! Address rules: which addresses, host names and ports requests may reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the public internet: not to this machine, a private network or a
/// range with a special meaning. An address that embeds an IPv4 address is judged by it.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast();
    let reserved = a == 0                                   // "this network"
        || (a == 100 && (64..128).contains(&b))             // carrier-grade NAT
        || (a == 192 && b == 0 && c == 0)                   // protocol assignments
        || (a == 192 && b == 88 && c == 99)                 // old 6to4 relays
        || (a == 198 && (b == 18 || b == 19))               // benchmarks
        || a >= 240;
    !special && !reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let s = address.segments();
    let low = Ipv4Addr::from(((s[6] as u32) << 16) | s[7] as u32);
    match s {
        // Mapped, translated (NAT64) and tunnelled (6to4) IPv4 addresses.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => is_public_v4(low),
        [0x2002, high, next, ..] => {
            is_public_v4(Ipv4Addr::from(((high as u32) << 16) | next as u32))
        }
        // Only 2000::/3 is assigned. Teredo, ORCHID and documentation ranges in it are not public.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

/// Host names reserved for this machine and private networks (RFC 6761, 6762, 8375), and
/// `internal`, where clouds serve the credentials of machines.
pub(crate) fn is_private_name(host: &str) -> bool {
    const KEPT: [&str; 5] = ["localhost", "local", "internal", "home.arpa", "localdomain"];
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    KEPT.iter().any(|kept| {
        host.strip_suffix(kept).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// Whether a port belongs to another protocol that could misinterpret a request: the bad-port list
/// of the Fetch standard.
pub(crate) fn is_of_another_service(port: u16) -> bool {
    const PORTS: [u16; 78] = [
        1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
        102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389,
        427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
        989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6679,
        6697, 10080, 0,
    ];
    PORTS.contains(&port) || (6665..=6669).contains(&port)
}

#[cfg(test)]
mod tests {
    use crate::address::is_public;

    #[test]
    fn only_the_public_internet_is_public() {
        for text in [
            "1.1.1.1",
            "93.184.216.34",
            "100.63.0.1",
            "172.32.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "2002:808:808::1",
            "64:ff9b::808:808",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "127.0.0.1",
            "127.255.255.254",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }
}
