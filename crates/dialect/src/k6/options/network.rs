//! Options about names, addresses and TLS.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use plimsoll_core::dns::{DnsPolicy, DnsSelect};
use serde_json::{Value, json};

use super::folded;
use super::value::{Ns, OptionValue, shortened, shown};
use crate::duration;

/// How long a looked-up address is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsTtl {
    /// For the whole run.
    Infinite,
    /// For a time; 0: looked up for each connection.
    Time(Ns),
}

/// `dns`: each part may be set by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dns {
    /// How long an address is used.
    pub ttl: Option<DnsTtl>,
    /// Which address is taken.
    pub select: Option<DnsSelect>,
    /// Which families are taken.
    pub policy: Option<DnsPolicy>,
}

impl Dns {
    fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        let shown = shortened(text);
        match key {
            "ttl" => {
                let time = || duration::parse_ns(text).filter(|ns| *ns >= 0);
                self.ttl = match text {
                    "inf" => Some(DnsTtl::Infinite),
                    _ => Some(DnsTtl::Time(Ns(time().ok_or_else(|| {
                        format!("ttl '{shown}' is not a duration: write 5m, 0 or inf")
                    })?))),
                };
            }
            "select" => {
                self.select = Some(match text {
                    "first" => DnsSelect::First,
                    "random" => DnsSelect::Random,
                    "roundRobin" => DnsSelect::RoundRobin,
                    _ => {
                        let known = "first, random or roundRobin";
                        return Err(format!("select '{shown}' is not known: write {known}"));
                    }
                });
            }
            "policy" => {
                self.policy = Some(match text {
                    "preferIPv4" => DnsPolicy::PreferIpv4,
                    "preferIPv6" => DnsPolicy::PreferIpv6,
                    "onlyIPv4" => DnsPolicy::OnlyIpv4,
                    "onlyIPv6" => DnsPolicy::OnlyIpv6,
                    "any" => DnsPolicy::Any,
                    _ => {
                        let known = "preferIPv4, preferIPv6, onlyIPv4, onlyIPv6 or any";
                        return Err(format!("policy '{shown}' is not known: write {known}"));
                    }
                });
            }
            _ => {
                let key = shortened(key);
                return Err(format!("'{key}' is not known: write ttl, select or policy"));
            }
        }
        Ok(())
    }
}

impl OptionValue for Dns {
    fn from_json(value: &Value) -> Result<Self, String> {
        if let Value::String(text) = value {
            return Self::from_text(text);
        }
        let entries = value.as_object();
        let entries = entries.ok_or_else(|| format!("{} is not an object", shown(value)))?;
        let mut dns = Self::default();
        for (key, value) in entries {
            // Other keys are ignored in a script.
            let Some(key) = folded(key, ["ttl", "select", "policy"]) else { continue };
            match value {
                Value::Null => {}
                Value::String(text) => dns.set(key, text)?,
                Value::Number(number) => dns.set(key, &number.to_string())?,
                _ => return Err(format!("{key} {} is not text: put it in quotes", shown(value))),
            }
        }
        Ok(dns)
    }

    /// `ttl=5m,select=random,policy=preferIPv4`.
    fn from_text(text: &str) -> Result<Self, String> {
        let mut dns = Self::default();
        for part in text.split(',') {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("'{}' has no value: write ttl=5m", shortened(part)))?;
            dns.set(key.trim(), value.trim())?;
        }
        Ok(dns)
    }

    fn overlay(&mut self, over: &Self) {
        self.ttl = over.ttl.or(self.ttl);
        self.select = over.select.or(self.select);
        self.policy = over.policy.or(self.policy);
    }

    fn to_json(&self) -> Value {
        let ttl = self.ttl.map(|ttl| match ttl {
            DnsTtl::Infinite => "inf".to_owned(),
            DnsTtl::Time(time) => time.to_string(),
        });
        let select = self.select.map(|select| match select {
            DnsSelect::First => "first",
            DnsSelect::Random => "random",
            DnsSelect::RoundRobin => "roundRobin",
        });
        let policy = self.policy.map(|policy| match policy {
            DnsPolicy::PreferIpv4 => "preferIPv4",
            DnsPolicy::PreferIpv6 => "preferIPv6",
            DnsPolicy::OnlyIpv4 => "onlyIPv4",
            DnsPolicy::OnlyIpv6 => "onlyIPv6",
            DnsPolicy::Any => "any",
        });
        json!({ "ttl": ttl, "select": select, "policy": policy })
    }
}

/// A block of addresses: `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    /// An address in it.
    pub address: IpAddr,
    /// How many leading bits all of its addresses share.
    pub bits: u8,
}

impl Cidr {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let (address, bits): (IpAddr, u8) = (address.parse().ok()?, bits.parse().ok()?);
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        (bits <= bits_max).then_some(Self { address, bits })
    }

    /// Whether an address is in the block.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let same = |a: u128, b: u128, width: u32| {
            let dropped = width - u32::from(self.bits);
            a.checked_shr(dropped).unwrap_or(0) == b.checked_shr(dropped).unwrap_or(0)
        };
        match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
            _ => false,
        }
    }
}

impl OptionValue for Vec<Cidr> {
    fn from_json(value: &Value) -> Result<Self, String> {
        cidrs(&Vec::<String>::from_json(value)?)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        cidrs(&Vec::<String>::from_text(text)?)
    }

    fn to_json(&self) -> Value {
        self.iter().map(|block| format!("{}/{}", block.address, block.bits)).collect()
    }
}

fn cidrs(items: &[String]) -> Result<Vec<Cidr>, String> {
    let wrong = |text: &str| format!("'{}' is not a block: write 10.0.0.0/8", shortened(text));
    items.iter().map(|text| Cidr::parse(text).ok_or_else(|| wrong(text))).collect()
}

/// Addresses to connect from: single ones, ranges and blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalIps {
    /// First and last address of each range, of one family.
    ranges: Vec<(IpAddr, u128)>,
}

impl LocalIps {
    /// The address of a VU, whose numbers start at 1: they take one after the other, and begin
    /// again after the last.
    #[must_use]
    pub fn of_vu(&self, vu: u64) -> Option<IpAddr> {
        let total = self.ranges.iter().fold(0u128, |sum, (_, count)| sum.saturating_add(*count));
        let mut place = u128::from(vu.checked_sub(1)?).checked_rem(total)?;
        for (first, count) in &self.ranges {
            if place < *count {
                return Some(match first {
                    IpAddr::V4(first) => {
                        Ipv4Addr::from_bits(first.to_bits().wrapping_add(place as u32)).into()
                    }
                    IpAddr::V6(first) => {
                        Ipv6Addr::from_bits(first.to_bits().wrapping_add(place)).into()
                    }
                });
            }
            place -= count;
        }
        None
    }

    /// A range's first address, and how many it has.
    fn range(text: &str) -> Option<(IpAddr, u128)> {
        if let Some(block) = Cidr::parse(text) {
            return Some(match block.address {
                IpAddr::V4(address) => {
                    let host = 32 - u32::from(block.bits);
                    let mask = u32::MAX.checked_shl(host).unwrap_or(0);
                    (Ipv4Addr::from_bits(address.to_bits() & mask).into(), 1u128 << host)
                }
                IpAddr::V6(address) => {
                    let host = 128 - u32::from(block.bits);
                    let mask = u128::MAX.checked_shl(host).unwrap_or(0);
                    let count = 1u128.checked_shl(host).unwrap_or(u128::MAX);
                    (Ipv6Addr::from_bits(address.to_bits() & mask).into(), count)
                }
            });
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last): (IpAddr, IpAddr) =
            (first.trim().parse().ok()?, last.trim().parse().ok()?);
        let between = match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => {
                u128::from(last.to_bits().checked_sub(first.to_bits())?)
            }
            (IpAddr::V6(first), IpAddr::V6(last)) => last.to_bits().checked_sub(first.to_bits())?,
            _ => return None,
        };
        Some((first, between.saturating_add(1)))
    }
}

impl OptionValue for LocalIps {
    fn from_json(value: &Value) -> Result<Self, String> {
        Self::from_text(&String::from_json(value)?)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let wrong = |item: &str| {
            let item = shortened(item);
            format!("'{item}' is not an address, a range or a block: write 10.0.0.1-10.0.0.9")
        };
        let range = |item: &str| Self::range(item.trim()).ok_or_else(|| wrong(item));
        Ok(Self { ranges: text.split(',').map(range).collect::<Result<_, _>>()? })
    }

    /// First addresses and how many follow: it has no place in a document of k6.
    fn to_json(&self) -> Value {
        self.ranges.iter().map(|(first, count)| format!("{first}+{}", count - 1)).collect()
    }
}

/// Where the names of `hosts` lead, by name in small letters (`host`, `*.host`, `host:port`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(BTreeMap<String, HostAddress>);

/// An address, with a port where one is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAddress {
    /// The address.
    pub address: IpAddr,
    /// The port; without it that of the URL.
    pub port: Option<u16>,
}

impl Hosts {
    /// Where a name leads at a port: the entry with the port counts before the one without, and
    /// the longest pattern before shorter ones.
    #[must_use]
    pub fn resolve(&self, host: &str, port: u16) -> Option<HostAddress> {
        let host = host.to_ascii_lowercase();
        let of = |suffix: &str| {
            let exact = self.0.get(&format!("{host}{suffix}"));
            let mut parents = host.match_indices('.').map(|(at, _)| &host[at..]);
            let parent = |parent: &str| self.0.get(&format!("*{parent}{suffix}"));
            exact.or_else(|| parents.find_map(parent)).copied()
        };
        of(&format!(":{port}")).or_else(|| of(""))
    }
}

impl OptionValue for Hosts {
    fn from_json(value: &Value) -> Result<Self, String> {
        let entries = BTreeMap::<String, String>::from_json(value)?;
        let entry = |(name, text): (String, String)| {
            let address = host_address(&text).ok_or_else(|| {
                let (name, text) = (shortened(&name), shortened(&text));
                format!("'{text}' of '{name}' is not an address: write 10.0.0.1 or 10.0.0.1:8080")
            })?;
            is_host_pattern(name.rsplit_once(':').map_or(name.as_str(), |(host, _)| host))
                .then(|| (name.to_ascii_lowercase(), address))
                .ok_or_else(|| not_a_pattern(&name))
        };
        Ok(Self(entries.into_iter().map(entry).collect::<Result<_, _>>()?))
    }

    /// JSON, since the values have colons.
    fn from_text(text: &str) -> Result<Self, String> {
        let json = serde_json::from_str(text);
        let wrong = || r#"it is not JSON: write {"example.com":"10.0.0.1"}"#.to_owned();
        Self::from_json(&json.map_err(|_| wrong())?)
    }

    fn to_json(&self) -> Value {
        let entry = |(name, to): (&String, &HostAddress)| {
            let text = match to.port {
                Some(port) => SocketAddr::new(to.address, port).to_string(),
                None => to.address.to_string(),
            };
            (name.clone(), Value::from(text))
        };
        self.0.iter().map(entry).collect()
    }
}

fn host_address(text: &str) -> Option<HostAddress> {
    if let Ok(address) = text.parse() {
        return Some(HostAddress { address, port: None });
    }
    let socket: SocketAddr = text.parse().ok()?;
    Some(HostAddress { address: socket.ip(), port: Some(socket.port()) })
}

/// A name, or `*.` and a name.
fn is_host_pattern(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    !name.is_empty() && !name.contains('*') && !name.contains(char::is_whitespace)
}

fn not_a_pattern(text: &str) -> String {
    format!("'{}' is not the name of a host: write example.com or *.example.com", shortened(text))
}

/// Names that requests must not go to: `example.com`, `*.example.com`; in small letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockedHosts(Vec<String>);

impl BlockedHosts {
    /// Whether a name is blocked.
    #[must_use]
    pub fn contains(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.0.iter().any(|pattern| match pattern.strip_prefix('*') {
            Some(suffix) => host.ends_with(suffix),
            None => host == *pattern,
        })
    }

    fn of(items: &[String]) -> Result<Self, String> {
        // A lone star blocks every name.
        let is_pattern = |text: &str| text == "*" || is_host_pattern(text);
        let pattern = |text: &String| {
            let valid = is_pattern(text).then(|| text.to_ascii_lowercase());
            valid.ok_or_else(|| not_a_pattern(text))
        };
        Ok(Self(items.iter().map(pattern).collect::<Result<_, _>>()?))
    }
}

impl OptionValue for BlockedHosts {
    fn from_json(value: &Value) -> Result<Self, String> {
        Self::of(&Vec::<String>::from_json(value)?)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        Self::of(&Vec::<String>::from_text(text)?)
    }

    fn to_json(&self) -> Value {
        self.0.as_slice().into()
    }
}
