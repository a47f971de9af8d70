//! How near an address is to this machine, and who may lead us there.
//!
//! A stranger's document may name any address, and what we would reach there the stranger often could not. So a
//! server never leads us nearer than it is itself: one on the internet stays on the internet, one on a private
//! network may name its neighbours, one on this machine may name anything. Addresses are judged where they are
//! dialled, after resolution, so that a name cannot mean one thing when it is checked and another when it is used.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// How near an address is; what is greater is nearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Anywhere on the internet.
    Internet,
    /// A private network, which others reach only from within.
    Network,
    /// The same wire. Services of clouds that give away credentials live there.
    Link,
    /// This machine.
    Machine,
    /// No single machine: multicast, or reserved. Nobody leads us there.
    Nowhere,
}

impl Reach {
    /// Judges an address, whatever it is wrapped in.
    pub(crate) fn of(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(ip) => of_v4(ip),
            IpAddr::V6(ip) => of_v6(ip),
        }
    }

    /// Judges what an address says by itself; `None` for a name that has to be resolved first.
    pub(crate) fn of_url(url: &Url) -> Option<Self> {
        match url.host()? {
            Host::Domain(name) => {
                let name = name.trim_end_matches('.');
                let is_here = name == "localhost" || name.ends_with(".localhost");
                is_here.then_some(Self::Machine)
            }
            Host::Ipv4(ip) => Some(of_v4(ip)),
            Host::Ipv6(ip) => Some(of_v6(ip)),
        }
    }

    /// Whether somebody at this distance may lead us to another one.
    pub(crate) fn may_name(self, other: Self) -> bool {
        other <= self && other != Self::Nowhere
    }
}

fn of_v4(ip: Ipv4Addr) -> Reach {
    match ip.octets() {
        // "This network" is this machine when it is dialled.
        [0 | 127, ..] => Reach::Machine,
        [169, 254, ..] => Reach::Link,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [192, 0, 0, _] | [198, 18 | 19, ..] => {
            Reach::Network
        }
        // Shared by the customers of one provider, and by private networks that are laid over others.
        [100, 64..=127, ..] => Reach::Network,
        // Examples, relays that are no more, multicast, reserved.
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] | [224..=255, ..] => {
            Reach::Nowhere
        }
        [..] => Reach::Internet,
    }
}

fn of_v6(ip: Ipv6Addr) -> Reach {
    let words = ip.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        of_v4(Ipv4Addr::new(a, b, c, d))
    };
    let own = match words {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Reach::Machine,
        // An IPv4 address: as it is, mapped, translated, or behind a gateway of the network's own.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => v4(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x64, 0xff9b, 1, _, _, _, high, low] => v4(high, low).max(Reach::Network),
        // 6to4, and Teredo, which keeps the client's address with every bit turned.
        [0x2002, high, low, ..] => v4(high, low),
        [0x2001, 0, server_high, server_low, _, _, high, low] => {
            v4(!high, !low).max(v4(server_high, server_low))
        }
        [0x2001, 0xdb8, ..] | [0x3ff0..=0x3fff, ..] => Reach::Nowhere,
        [0x2000..=0x3fff, ..] => Reach::Internet,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Reach::Network,
        [0xfe80..=0xfebf, ..] => Reach::Link,
        // Nothing else was ever given to anybody.
        [..] => Reach::Nowhere,
    };
    match words {
        // A tunnel within a site has the IPv4 address behind these two words, under any prefix.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => own.max(v4(high, low)),
        [..] => own,
    }
}

/// Why a name is not dialled.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the name leads to an address that the server may not name")]
pub(crate) struct TooNear;

/// Resolves names for a client and gives out no address that is too near.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// How near whoever names addresses is, as far as that is known.
    from: Arc<Mutex<Reach>>,
}

impl Guard {
    pub(crate) fn new(from: Reach) -> Self {
        let guard = Self { from: Arc::new(Mutex::new(Reach::Internet)) };
        guard.met(from);
        guard
    }

    /// Whether an address may be dialled.
    pub(crate) fn allows(&self, reach: Reach) -> bool {
        self.from.lock().may_name(reach)
    }

    /// Learns how near whoever names addresses was met. Who is nowhere has no neighbours.
    pub(crate) fn met(&self, reach: Reach) {
        *self.from.lock() = if reach == Reach::Nowhere { Reach::Internet } else { reach };
    }

    /// Resolves a name. One address that is too near spoils all of them: which one is dialled would be up to
    /// whoever owns the name.
    pub(crate) async fn addresses(&self, name: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        let found: Vec<SocketAddr> = tokio::net::lookup_host((name, port)).await?.collect();
        match found.iter().all(|address| self.allows(Reach::of(address.ip()))) {
            true => Ok(found),
            false => Err(std::io::Error::other(TooNear)),
        }
    }
}

/// Whether a name was not dialled because of where it leads.
pub(crate) fn is_too_near(err: &std::io::Error) -> bool {
    err.get_ref().is_some_and(|inner| inner.is::<TooNear>())
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let found = guard.addresses(name.as_str(), 0).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Reach {
        Reach::of_url(&Url::parse(&format!("https://{text}/")).unwrap()).unwrap()
    }

    #[test]
    fn m3_an_address_is_as_near_as_what_it_is_wrapped_around() {
        use Reach::{Internet, Link, Machine, Network, Nowhere};
        let rows = [
            (Internet, &["1.1.1.1", "9.9.9.9", "172.32.0.1", "[2606:4700::1111]"][..]),
            (Internet, &["[::ffff:1.1.1.1]", "[64:ff9b::1.1.1.1]", "[2002:101:101::1]"]),
            (
                Network,
                &["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "198.18.0.1"],
            ),
            (
                Network,
                &["[fd00::1]", "[fc00::1]", "[fec0::1]", "[::ffff:10.0.0.1]", "[64:ff9b::192.168.0.1]"],
            ),
            (
                Network,
                &["[64:ff9b:1::1.1.1.1]", "[2002:a00:1::]", "[2600::5efe:10.0.0.1]", "[::ffff:0:10.0.0.1]"],
            ),
            (
                Link,
                &[
                    "169.254.169.254",
                    "[fe80::1]",
                    "[::ffff:169.254.169.254]",
                    "0xa9fea9fe",
                    "[2002:a9fe:a9fe::]",
                ],
            ),
            (
                Machine,
                &["127.0.0.1", "127.1", "0177.0.0.1", "0x7f.1", "2130706433", "0", "0.0.0.0", "0.1.2.3"],
            ),
            (
                Machine,
                &["[::]", "[::1]", "[::ffff:0:0]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::]"],
            ),
            (Machine, &["[2002:7f00:1::]", "[2001:0:0101:0101::80ff:fffe]"]),
            (Machine, &["localhost", "LOCALHOST", "localhost.", "a.localhost", "a.localhost."]),
            (
                Nowhere,
                &["224.0.0.1", "255.255.255.255", "240.0.0.1", "203.0.113.1", "[ff02::1]", "[2001:db8::1]"],
            ),
        ];
        for (reach, texts) in rows {
            for text in texts {
                assert_eq!(of(text), reach, "{text}");
            }
        }
        assert_eq!(Reach::of_url(&Url::parse("https://localhost.evil.example").unwrap()), None);
    }

    #[test]
    fn m3_nobody_leads_us_nearer_than_they_are() {
        use Reach::{Internet, Link, Machine, Network, Nowhere};
        let named = |from: Reach| {
            [Internet, Network, Link, Machine, Nowhere].into_iter().filter(|it| from.may_name(*it)).count()
        };
        assert_eq!([Internet, Network, Link, Machine].map(named), [1, 2, 3, 4]);
        assert!(!Nowhere.may_name(Nowhere));
    }

    proptest! {
        #[test]
        fn m3_wrapping_an_address_brings_nobody_nearer(bits: u32) {
            let v4 = Ipv4Addr::from_bits(bits);
            let [high, low] = [(bits >> 16) as u16, bits as u16];
            let plain = Reach::of(v4.into());
            for wrapped in [
                v4.to_ipv6_mapped(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, 0x0101, 0x0101, 0, 0, !high, !low),
                Ipv6Addr::new(0x2600, 0, 0, 0, 0, 0x5efe, high, low),
            ] {
                prop_assert_eq!(Reach::of(wrapped.into()), plain, "{}", wrapped);
            }
        }
    }
}
