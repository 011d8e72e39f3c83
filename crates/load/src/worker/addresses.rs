//! Choice of addresses: of the target, and of this host as source of a connection.

use std::net::IpAddr;

use crate::plan::Balance;
use crate::sys::Address;

use super::TargetState;

/// Addresses of this host that connections leave from, in turn.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    ipv4: Vec<IpAddr>,
    ipv6: Vec<IpAddr>,
}

impl Sources {
    /// Sorts them by family.
    #[must_use]
    pub fn new(all: &[IpAddr]) -> Self {
        let (ipv4, ipv6) = all.iter().partition(|source| source.is_ipv4());
        Self { ipv4, ipv6 }
    }

    /// Returns the source addresses that can reach an address.
    #[must_use]
    pub fn of(&self, address: &Address) -> &[IpAddr] {
        match address {
            Address::Tcp(address) if address.is_ipv4() => &self.ipv4,
            Address::Tcp(_) => &self.ipv6,
            Address::Unix(_) => &[],
        }
    }
}

impl TargetState {
    /// Number of addresses that users are assigned to for good; 0 if a user may use any.
    pub(super) fn places(&self) -> usize {
        if self.balance == Balance::User {
            self.addresses.len()
        } else {
            0
        }
    }

    /// The address of the next session of a driver; 0 if the driver needs none.
    pub(super) fn session_turn(&mut self, rank: u32, random: impl FnOnce(u64) -> u64) -> usize {
        if self.addresses.is_empty() {
            return 0;
        }
        self.turn(rank, random).0
    }

    /// Returns the target address and the index of the source address of the next connection. The source changes after
    /// each round over all target addresses, so that every pair is used.
    pub(super) fn turn(&mut self, rank: u32, random: impl FnOnce(u64) -> u64) -> (usize, usize) {
        let (turn, count) = (self.next, self.addresses.len());
        self.next = turn.wrapping_add(1);
        match self.balance {
            Balance::RoundRobin => (turn % count, turn / count),
            Balance::Random => (random(count as u64) as usize, turn),
            Balance::User => (rank as usize % count, turn / count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(addresses: usize) -> TargetState {
        let address = "127.0.0.1:1".parse().expect("an address");
        TargetState {
            addresses: vec![Address::Tcp(address); addresses],
            balance: Balance::RoundRobin,
            next: 0,
            tls: None,
            http2: false,
        }
    }

    #[test]
    fn every_pair_of_address_and_source_comes_up_alike() {
        let mut target = place(2);
        let turns: Vec<_> = (0..6).map(|_| target.turn(0, |_| 0)).collect();
        let pairs: Vec<_> = turns
            .iter()
            .map(|(source, turn)| (*source, turn % 2))
            .collect();
        assert_eq!(pairs, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 0), (1, 0)]);
    }

    #[test]
    fn a_user_stays_with_its_address_however_often_it_connects() {
        let mut target = TargetState {
            balance: Balance::User,
            ..place(3)
        };
        let mut choice = |rank: u32| target.turn(rank, |_| 0).0;
        let choices: Vec<_> = [0, 1, 2, 3, 4, 4, 4, 0, 5].map(&mut choice).into();
        assert_eq!(choices, [0, 1, 2, 0, 1, 1, 1, 0, 2]);
    }

    #[test]
    fn sources_go_with_addresses_of_their_family() {
        let all: Vec<IpAddr> = ["127.0.0.2", "::1"]
            .iter()
            .map(|text| text.parse().expect("an address"))
            .collect();
        let sources = Sources::new(&all);
        let to = |text: &str| Address::Tcp(text.parse().expect("an address"));
        assert_eq!(sources.of(&to("127.0.0.1:80")), &all[..1]);
        assert_eq!(sources.of(&to("[::1]:80")), &all[1..]);
        assert!(sources.of(&Address::Unix("/x".into())).is_empty());
    }
}
