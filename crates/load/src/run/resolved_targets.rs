//! Resolves the host names of a plan, and prepares the settings for connecting to the targets.

use std::net::{IpAddr, ToSocketAddrs};

use towtank_drivers::Location;

use crate::plan::{Balance, Fault, HttpVersion, Plan, Scheme};
use crate::sys::{Address, Socket};
use crate::tls::Secured;
use crate::worker::{Sources, TargetState, TargetTls, Ways};

/// Resolved addresses and TLS settings of a target, shared by all load threads.
#[derive(Debug)]
pub(super) struct ResolvedTarget {
    pub(super) addresses: Vec<Ways>,
    secured: Option<Secured>,
    http2: bool,
}

impl ResolvedTarget {
    /// Converts the addresses of the target to the form that drivers use.
    pub(super) fn locations(&self) -> Vec<Location> {
        let each = self.addresses.iter().map(|ways| match ways.all() {
            [Address::Unix(path), ..] => Location::Unix(path.clone()),
            [Address::Tcp(address)] => Location::Tcp(*address),
            several => Location::Name(several.iter().filter_map(Address::tcp).collect()),
        });
        each.collect()
    }

    /// Creates the state of the target for one load thread, with separate counters and TLS sessions.
    pub(super) fn for_thread(&self, balance: Balance, worker: usize) -> TargetState {
        let tls = self.secured.as_ref().map(|secured| {
            let (config, sessions) = secured.for_thread();
            TargetTls {
                config,
                sessions,
                name: secured.name.clone(),
            }
        });
        TargetState {
            addresses: self.addresses.clone(),
            balance,
            next: worker,
            tls,
            http2: self.http2,
        }
    }
}

/// Resolves the host names of all targets, and loads their certificates.
pub(super) fn resolve(plan: &Plan) -> (Vec<ResolvedTarget>, Vec<Fault>) {
    let mut faults = Vec::new();
    let mut places = Vec::new();
    for (number, target) in plan.targets.iter().enumerate() {
        let mut addresses = Vec::new();
        for (index, address) in target.addresses.iter().enumerate() {
            let place = format!("targets[{number}].addresses[{index}]");
            let further = target.fallbacks.get(index).into_iter().flatten();
            match ways(address, further) {
                Ok(found) => addresses.push(found),
                Err(message) => faults.push(Fault { place, message }),
            }
        }
        let secured = match target.scheme {
            Scheme::Http | Scheme::Driver => None,
            Scheme::Https => match Secured::new(&format!("targets[{number}]"), target) {
                Ok(secured) => Some(secured),
                Err(more) => {
                    faults.extend(more);
                    None
                }
            },
        };
        places.push(ResolvedTarget {
            addresses,
            secured,
            http2: target.http == HttpVersion::V2,
        });
    }
    (places, faults)
}

/// Resolves a host name to all of its addresses, in the order of resolution, followed by the addresses of the host
/// names in `further`.
fn ways<'a>(address: &str, further: impl Iterator<Item = &'a String>) -> Result<Ways, String> {
    let mut all = resolved(address)?;
    for other in further {
        let found = resolved(other)?.into_iter();
        all.extend(found.filter(|each| !all.contains(each)).collect::<Vec<_>>());
    }
    Ok(Ways::new(all))
}

/// Resolves a host name. The addresses are in the order of RFC 6724, which `getaddrinfo` implements.
fn resolved(address: &str) -> Result<Vec<Address>, String> {
    if let Some(path) = address.strip_prefix("unix:") {
        return Ok(vec![Address::Unix(path.into())]);
    }
    let mut all = Vec::new();
    let found = address.to_socket_addrs();
    for each in found.into_iter().flatten().map(Address::Tcp) {
        if !all.contains(&each) {
            all.push(each);
        }
    }
    if all.is_empty() {
        return Err(format!(
            "{address:?} cannot be resolved: is the name spelled correctly, and does this host resolve it (getent hosts)?"
        ));
    }
    Ok(all)
}

/// Resolves the source addresses of connections. Each of them must be an address of this host, and each target must be
/// reachable from at least one of them.
pub(super) fn sources(
    plan: &Plan,
    places: &mut [ResolvedTarget],
    faults: &mut Vec<Fault>,
) -> Sources {
    let texts = &plan.connections.sources;
    let all: Vec<IpAddr> = texts.iter().filter_map(|text| text.parse().ok()).collect();
    for (index, source) in all.iter().enumerate() {
        if let Err(error) = Socket::try_source(*source) {
            faults.push(Fault {
                place: format!("connections.sources[{index}]"),
                message: format!("connections cannot use the source address {source}: {error}"),
            });
        }
    }
    let sources = Sources::new(&all);
    if all.is_empty() {
        return sources;
    }
    for (place, target) in places.iter_mut().zip(&plan.targets) {
        place
            .addresses
            .iter_mut()
            .for_each(|ways| ways.within_reach(&sources));
        let unreachable = |address: &Address| {
            matches!(address, Address::Tcp(_)) && sources.of(address).is_empty()
        };
        if place
            .addresses
            .iter()
            .any(|ways| ways.all().iter().any(unreachable))
        {
            faults.push(Fault {
                place: "connections.sources".to_owned(),
                message: format!(
                    "must have an address of the same family (IPv4 or IPv6) as each address of target {:?}",
                    target.name
                ),
            });
        }
    }
    sources
}
