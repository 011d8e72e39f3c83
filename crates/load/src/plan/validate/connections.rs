//! Checks the targets and connections of a plan.

use std::net::IpAddr;

use super::{Checker, is_header_value};
use towtank_drivers::Server;

use crate::plan::{Balance, ConnectionMode, HttpVersion, Scheme, Target, Tls};
use crate::sys::UNIX_PATH_BYTES;

/// Limit on the size of a connection pool. No operating system has this many ports and file descriptors.
const SIZE_CEILING: usize = 1 << 28;

/// Limit on concurrent requests over one HTTP/2 connection. No server accepts this many.
const STREAMS_CEILING: u32 = 1 << 20;

impl Checker<'_> {
    pub(super) fn connections(&mut self) {
        let (connections, threads) = (&self.plan.connections, self.plan.threads);
        let pooled = connections.mode == ConnectionMode::Pool;
        match connections.size {
            None => self.require(!pooled, "connections.size", || {
                "must be given with mode `pool`".to_owned()
            }),
            Some(size) if pooled => {
                let good = (threads..=SIZE_CEILING).contains(&size);
                self.require(good, "connections.size", || {
                    format!(
                        "must be at least one for each of {threads} threads, and at most {SIZE_CEILING}, got {size}"
                    )
                });
            }
            Some(_) => self.fault("connections.size", "is allowed only with mode `pool`"),
        }
        self.streams(pooled);
        for (index, source) in connections.sources.iter().enumerate() {
            let good = source.parse::<IpAddr>().is_ok();
            self.require(good, &format!("connections.sources[{index}]"), || {
                format!("must be an IP address, got {source:?}")
            });
        }
    }

    fn streams(&mut self, pooled: bool) {
        let Some(streams) = self.plan.connections.streams else {
            return;
        };
        let speaks_http2 = self
            .plan
            .targets
            .iter()
            .any(|target| target.http == HttpVersion::V2);
        self.require(pooled && speaks_http2, "connections.streams", || {
            "is allowed only with mode `pool` and a target with `http` \"2\"".to_owned()
        });
        self.require(
            (1..=STREAMS_CEILING).contains(&streams),
            "connections.streams",
            || format!("must be in [1, {STREAMS_CEILING}], got {streams}"),
        );
    }

    fn spread(&mut self, place: &str, target: &Target) {
        let named = target.services.is_empty() || target.services.len() == target.addresses.len();
        self.require(named, &format!("{place}.services"), || {
            let (addresses, got) = (target.addresses.len(), target.services.len());
            format!("must have one name for each of {addresses} addresses, got {got}")
        });
        let pooled = self.plan.connections.mode == ConnectionMode::Pool;
        let by_user = target.balance == Balance::User;
        self.require(!(pooled && by_user), &format!("{place}.balance"), || {
            "must not be `user` with mode `pool`: connections of a pool belong to no user"
                .to_owned()
        });
    }

    pub(super) fn target(&mut self, place: &str, target: &Target) {
        let needs_address = target.driver.as_ref().is_none_or(Server::needs_address);
        self.require(target.addresses.is_empty() != needs_address, place, || {
            if needs_address {
                "must have at least one address".to_owned()
            } else {
                "must have no addresses: its driver needs none".to_owned()
            }
        });
        for (index, address) in target.addresses.iter().enumerate() {
            self.address(&format!("{place}.addresses[{index}]"), address);
        }
        self.fallbacks(place, target);
        self.spread(place, target);
        let driven = target.scheme == Scheme::Driver;
        self.require(driven == target.driver.is_some(), place, || {
            "must have scheme `driver` and key `driver`, or neither".to_owned()
        });
        let named = is_header_value(target.host.as_bytes()) && !target.host.is_empty();
        self.require(driven || named, &format!("{place}.host"), || {
            format!("must be the value of a Host header, got {:?}", target.host)
        });
        if let Some(tls) = &target.tls {
            self.require(target.scheme == Scheme::Https, place, || {
                "must have scheme `https` with `tls`".to_owned()
            });
            self.tls(place, tls);
        }
    }

    fn fallbacks(&mut self, place: &str, target: &Target) {
        let (addresses, got) = (target.addresses.len(), target.fallbacks.len());
        self.require(
            got == 0 || got == addresses,
            &format!("{place}.fallbacks"),
            || format!("must have one list for each of {addresses} addresses, got {got}"),
        );
        for (index, further) in target.fallbacks.iter().enumerate() {
            for (number, address) in further.iter().enumerate() {
                let place = format!("{place}.fallbacks[{index}][{number}]");
                self.require(!address.starts_with("unix:"), &place, || {
                    format!("must be host:port, got {address:?}")
                });
                self.address(&place, address);
            }
        }
    }

    fn address(&mut self, place: &str, address: &str) {
        if let Some(path) = address.strip_prefix("unix:") {
            let good = path.starts_with('/') && path.len() <= UNIX_PATH_BYTES;
            self.require(good, place, || {
                format!("must be unix:/path of at most {UNIX_PATH_BYTES} bytes, got {address:?}")
            });
            return;
        }
        let port = address
            .rsplit_once(':')
            .filter(|(host, _)| !host.is_empty())
            .map(|(_, port)| port);
        let good = port.is_some_and(|port| port.parse::<u16>().is_ok_and(|number| number > 0));
        self.require(good, place, || {
            format!("must be host:port or unix:/path, got {address:?}")
        });
    }

    fn tls(&mut self, place: &str, tls: &Tls) {
        self.require(
            tls.client_certificate.is_some() == tls.client_key.is_some(),
            &format!("{place}.tls"),
            || "must have both `client_certificate` and `client_key`, or neither".to_owned(),
        );
        self.require(
            !tls.versions.is_empty(),
            &format!("{place}.tls.versions"),
            || "must have \"1.2\", \"1.3\" or both".to_owned(),
        );
    }
}
