//! Which addresses are public.
//!
//! A name that a program may reach can be pointed anywhere by its owner, also to `127.0.0.1` or to
//! a cloud's metadata. So the addresses of a name count only where they are public; an address that
//! is meant has to be granted by number.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Networks that are not the Internet's, or not for talking to one host (IANA's registries of special-purpose
/// addresses, RFC 6890), with the bits of their prefix.
const V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Shared by the customers of a carrier; some clouds have their metadata there.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local, with the metadata of most clouds at 169.254.169.254.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast, what is reserved, and broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
    // The host of Azure's virtual machines, with their keys.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
];

/// Parts of 2000::/3, outside of which no address is the Internet's, that are not the Internet's either.
const V6: &[(Ipv6Addr, u32)] = &[
    // Protocols, Teredo among them, which holds an IPv4 address.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4, which holds an IPv4 address.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether this is an address that every machine reaches under it: not one of a private network, of this
/// machine, of its link, or of a cloud's own services.
///
/// An IPv4 address in IPv6 form, mapped or translated (RFC 6052), is judged as the IPv4 address.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(it) => is_public_v4(it),
        IpAddr::V6(it) => {
            if let Some(inner) = translated(it) {
                return is_public_v4(inner);
            }
            let bits = it.to_bits();
            let is_global = bits >> 125 == 1;
            is_global && !V6.iter().any(|(net, n)| (bits ^ net.to_bits()) >> (128 - n) == 0)
        }
    }
}

/// Whether none of [`V4`] has it.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !V4.iter().any(|(net, n)| (bits ^ net.to_bits()) >> (32 - n) == 0)
}

/// The IPv4 address for which a translator stands in: 64:ff9b::/96 (RFC 6052). Where there is IPv6 only, all
/// hosts of IPv4 look like this.
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
        }
        _ => None,
    }
}

/// Whether this machine itself has the address: what it sends there would come from the same one.
///
/// `false` where there is no route to the address.
pub(super) fn is_ours(address: SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // No packet leaves: a connected UDP socket knows its own address (udp(7)).
    UdpSocket::bind((any, 0))
        .and_then(|socket| socket.connect(address).and_then(|()| socket.local_addr()))
        .is_ok_and(|it| it.ip() == address.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_inside_is_not_public() {
        let public = ["8.8.8.8", "100.63.0.1", "100.128.0.1", "172.32.0.1", "2606:4700::1"];
        let public = public.into_iter().chain(["::ffff:8.8.8.8", "64:ff9b::808:808", "223.1.1.1"]);
        let inside = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "198.19.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "192.0.0.192",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "fec0::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:0:1::",
            "2001:db8::1",
        ];
        let check = |text: &str, expect| {
            assert_eq!(is_public(text.parse().expect("an address")), expect, "{text}");
        };
        public.for_each(|it| check(it, true));
        inside.into_iter().for_each(|it| check(it, false));
    }

    #[test]
    fn this_machine_knows_its_own() {
        assert!(is_ours(([127, 0, 0, 1], 80).into()));
        assert!(!is_ours(([192, 0, 2, 1], 80).into()));
    }
}
