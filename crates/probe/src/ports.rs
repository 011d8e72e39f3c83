//! Local ports that are in use towards each destination, for each network namespace.
//!
//! Each connection to a destination needs a local port, and a closed connection keeps its port for a minute. The
//! sockets of a namespace are counted with every sample. As long as their total is small, the ports cannot run out for
//! any destination. Sockets are listed by destination only if the total is large. This costs about 1 µs of CPU per
//! socket, and takes at most 1 % of the time.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use crate::host::networks;
use crate::json::Json;
use crate::{sys, text};

/// Sockets are listed by destination if their number reaches this share of the range of local ports. [percent]
const LISTED_FROM: u64 = 90;
/// Default range of local ports of the kernel.
const USUAL: (u64, u64) = (32_768, 60_999);
/// Pause after sockets were listed, as a multiple of the time that the listing took.
const REST: u64 = 100;
/// Largest number of destinations that are reported.
const REPORTED_AT_MOST: usize = 3;
/// State of a listening socket, in hexadecimal.
const LISTENS: &[u8] = b"0A";

/// The network namespaces of all groups.
#[derive(Debug)]
pub struct Networks {
    first: u64,
    listed_from: u64,
    seen: BTreeMap<u64, Seen>,
    rest_until_ns: BTreeMap<u64, u64>,
}

/// Number of sockets and listed destinations of one network namespace in one sample.
#[derive(Debug, Clone)]
struct Seen {
    sockets: u64,
    towards: Vec<(SocketAddr, u64)>,
}

impl Networks {
    /// Creates the networks with the range of local ports of this host, which it reads from `proc`.
    #[must_use]
    pub fn new(proc: &Path) -> Self {
        let range = fs::read(proc.join("sys/net/ipv4/ip_local_port_range")).unwrap_or_default();
        let mut ends = text::fields(&range).map_while(text::number);
        let (first, last) = ends.next().zip(ends.next()).unwrap_or(USUAL);
        // Another network namespace may have another range of local ports, which only processes in it can read. Most
        // likely it has the default range.
        let ports = last.saturating_sub(first).min(USUAL.1 - USUAL.0) + 1;
        Self {
            first: first.min(USUAL.0),
            listed_from: ports * LISTED_FROM / 100,
            seen: BTreeMap::new(),
            rest_until_ns: BTreeMap::new(),
        }
    }

    /// Removes the values of the last sample, so that sockets are counted again.
    pub fn begin(&mut self) {
        self.seen.clear();
    }

    /// Writes the object `ports` of a group that contains the process `pid`. Writes nothing if the network of the
    /// process is not visible.
    pub fn write(&mut self, proc: &Path, pid: u32, json: &mut Json) {
        let folder = proc.join(pid.to_string());
        let Some(namespace) = namespace(&folder) else {
            return;
        };
        if !self.seen.contains_key(&namespace) {
            let Some(seen) = self.look(&folder.join("net"), namespace) else {
                return;
            };
            self.seen.insert(namespace, seen);
        }
        let seen = &self.seen[&namespace];
        json.object("ports");
        json.count("network", namespace);
        json.count("sockets", seen.sockets);
        if !seen.towards.is_empty() {
            json.object("towards");
            for (destination, ports) in &seen.towards {
                json.count(&destination.to_string(), *ports);
            }
            json.end_object();
        }
        json.end_object();
    }

    fn look(&mut self, net: &Path, namespace: u64) -> Option<Seen> {
        let first = fs::read(net.join("sockstat")).ok()?;
        let second = fs::read(net.join("sockstat6")).unwrap_or_default();
        let sockets = networks::behind(&first, "TCP:", "inuse")?
            + networks::behind(&first, "TCP:", "tw").unwrap_or(0)
            + networks::behind(&second, "TCP6:", "inuse").unwrap_or(0);
        let begin_ns = sys::monotonic_ns();
        let rests = self
            .rest_until_ns
            .get(&namespace)
            .is_some_and(|until| begin_ns < *until);
        let mut towards = Vec::new();
        if sockets >= self.listed_from && !rests {
            let lists = ["tcp", "tcp6"].map(|name| fs::read(net.join(name)).unwrap_or_default());
            towards = fullest(&lists, self.first);
            let end_ns = sys::monotonic_ns();
            self.rest_until_ns
                .insert(namespace, end_ns + REST * (end_ns - begin_ns));
        }
        Some(Seen { sockets, towards })
    }
}

fn namespace(folder: &Path) -> Option<u64> {
    let link = fs::read_link(folder.join("ns/net")).ok()?;
    let name = link.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?;
    name.parse().ok()
}

/// Returns the destinations for which the most local ports are in use. Only ports from `first` on count. `lists`
/// contains the lines of `/proc/net/tcp` and `tcp6`.
#[must_use]
pub fn fullest(lists: &[Vec<u8>], first: u64) -> Vec<(SocketAddr, u64)> {
    let mut used: BTreeMap<(IpAddr, SocketAddr), u64> = BTreeMap::new();
    let lines = lists.iter().flat_map(|list| text::lines(list));
    for (local, remote) in lines.filter_map(ends) {
        if u64::from(local.port()) >= first && remote.port() != 0 {
            *used.entry((local.ip(), remote)).or_default() += 1;
        }
    }
    let mut found: Vec<(SocketAddr, u64)> = used
        .into_iter()
        .map(|((_, remote), ports)| (remote, ports))
        .collect();
    found.sort_by_key(|(_, ports)| std::cmp::Reverse(*ports));
    found.truncate(REPORTED_AT_MOST);
    found
}

/// Returns the local and the remote address of a connection, from its line; `None` for headings and listening sockets.
fn ends(line: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let mut fields = text::fields(line).skip(1);
    let (local, remote) = (fields.next()?, fields.next()?);
    (fields.next()? != LISTENS).then_some(())?;
    Some((address(local)?, address(remote)?))
}

/// Parses an address as the kernel writes it: 32-bit words in the byte order of this machine, a colon, and the port.
fn address(field: &[u8]) -> Option<SocketAddr> {
    let (host, port) = std::str::from_utf8(field).ok()?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |place: usize| {
        let digits = host.get(8 * place..8 * place + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = if host.len() == 8 {
        IpAddr::V4(Ipv4Addr::from(word(0)?))
    } else {
        let mut bytes = [0_u8; 16];
        for (place, part) in bytes.chunks_exact_mut(4).enumerate() {
            part.copy_from_slice(&word(place)?);
        }
        // An IPv4 address and the IPv6 address to which it is mapped share their ports, so both are treated as the same
        // address.
        IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(local: &str, remote: &str, state: &str) -> String {
        format!("   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000  0 0 1 1\n")
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn ports_are_counted_by_destination() {
        let mut first =
            String::from("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n");
        first += &line("0100007F:1538", "00000000:0000", "0A");
        for port in 0..5 {
            // Connections from 10.0.0.1 to the database at 10.0.0.2:5432, of which two are closed and keep their ports
            // (TIME_WAIT).
            let state = if port < 2 { "06" } else { "01" };
            first += &line(
                &format!("0100000A:{:04X}", 40_000 + port),
                "0200000A:1538",
                state,
            );
        }
        // A connection that arrived at port 80 uses no local port. Port 5433 of the database is a separate destination.
        first += &line("0100000A:0050", "0300000A:9C40", "01");
        first += &line("0100000A:9C50", "0200000A:1539", "01");
        let mapped = "0000000000000000FFFF00000100000A:9C60";
        let second = line(mapped, "0000000000000000FFFF00000200000A:1538", "01")
            + &line(
                "00000000000000000000000001000000:9C60",
                "00000000000000000000000001000000:1538",
                "01",
            );
        let found = fullest(&[first.into_bytes(), second.into_bytes()], 32_768);
        let reported: Vec<(String, u64)> = found
            .into_iter()
            .map(|(destination, ports)| (destination.to_string(), ports))
            .collect();
        assert_eq!(reported[0], ("10.0.0.2:5432".to_owned(), 6));
        assert_eq!(reported.len(), 3);
        assert!(
            reported.contains(&("[::1]:5432".to_owned(), 1)),
            "{reported:?}"
        );
    }

    #[test]
    fn our_own_network_is_seen_and_not_listed_while_sockets_are_few() {
        let proc = Path::new("/proc");
        let mut networks = Networks::new(proc);
        networks.listed_from = u64::MAX;
        let mut json = Json::default();
        json.begin();
        networks.write(proc, std::process::id(), &mut json);
        json.end_object();
        let written = json.as_str();
        assert!(
            written.contains("\"sockets\":") && !written.contains("towards"),
            "{written}"
        );
    }

    #[test]
    fn a_listing_is_followed_by_rest() {
        let proc = Path::new("/proc");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let _client = std::net::TcpStream::connect(address).expect("a connection");
        let mut networks = Networks::new(proc);
        (networks.listed_from, networks.first) = (0, 1);
        let mut listed = Vec::new();
        for _ in 0..2 {
            networks.begin();
            let mut json = Json::default();
            json.begin();
            networks.write(proc, std::process::id(), &mut json);
            listed.push(json.as_str().contains("towards"));
        }
        assert_eq!(listed, [true, false]);
    }
}
