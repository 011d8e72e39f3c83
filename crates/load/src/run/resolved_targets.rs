//! Addresses of a plan, resolved, with the settings to connect to them.

use std::net::{IpAddr, ToSocketAddrs};

use towtank_drivers::Location;

use crate::plan::{Balance, Fault, HttpVersion, Plan, Scheme};
use crate::sys::{Address, Socket};
use crate::tls::Secured;
use crate::worker::{Sources, TargetState, TargetTls};

/// Address of a target, the same for all threads.
#[derive(Debug)]
pub(super) struct ResolvedTarget {
    pub(super) addresses: Vec<Address>,
    secured: Option<Secured>,
    http2: bool,
}

impl ResolvedTarget {
    /// The addresses in the form of the drivers.
    pub(super) fn locations(&self) -> Vec<Location> {
        let each = self.addresses.iter().map(|address| match address {
            Address::Tcp(address) => Location::Tcp(*address),
            Address::Unix(path) => Location::Unix(path.clone()),
        });
        each.collect()
    }

    /// Input of one thread: counters and sessions are its own.
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

/// Resolves names and loads certificates.
pub(super) fn resolve(plan: &Plan) -> (Vec<ResolvedTarget>, Vec<Fault>) {
    let mut faults = Vec::new();
    let mut places = Vec::new();
    for (number, target) in plan.targets.iter().enumerate() {
        let mut addresses = Vec::new();
        for (index, address) in target.addresses.iter().enumerate() {
            match resolved(address) {
                Some(found) => addresses.push(found),
                None => faults.push(Fault {
                    place: format!("targets[{number}].addresses[{index}]"),
                    message: format!("{address:?} is no known address"),
                }),
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

fn resolved(address: &str) -> Option<Address> {
    if let Some(path) = address.strip_prefix("unix:") {
        return Some(Address::Unix(path.into()));
    }
    address.to_socket_addrs().ok()?.next().map(Address::Tcp)
}

/// Source addresses; each must belong to this host, and every target must be within reach of one.
pub(super) fn sources(plan: &Plan, places: &[ResolvedTarget], faults: &mut Vec<Fault>) -> Sources {
    let texts = &plan.connections.sources;
    let all: Vec<IpAddr> = texts.iter().filter_map(|text| text.parse().ok()).collect();
    for (index, source) in all.iter().enumerate() {
        if let Err(error) = Socket::try_source(*source) {
            faults.push(Fault {
                place: format!("connections.sources[{index}]"),
                message: format!("connections cannot leave from {source}: {error}"),
            });
        }
    }
    let sources = Sources::new(&all);
    for (place, target) in places.iter().zip(&plan.targets) {
        let unreachable = |address: &&Address| {
            matches!(address, Address::Tcp(_)) && sources.of(address).is_empty()
        };
        if !all.is_empty() && place.addresses.iter().any(|address| unreachable(&address)) {
            faults.push(Fault {
                place: "connections.sources".to_owned(),
                message: format!(
                    "must have one of the family of every address of target {:?}",
                    target.name
                ),
            });
        }
    }
    sources
}
