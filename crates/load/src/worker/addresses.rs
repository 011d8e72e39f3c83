//! Choice of the target address and of the source address of a connection.

use std::net::IpAddr;

use crate::plan::Balance;
use crate::sys::Address;

use super::TargetState;

/// Source addresses of connections, used in rotation.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    ipv4: Vec<IpAddr>,
    ipv6: Vec<IpAddr>,
}

impl Sources {
    /// Sorts the source addresses by address family.
    #[must_use]
    pub fn new(all: &[IpAddr]) -> Self {
        let (ipv4, ipv6) = all.iter().partition(|source| source.is_ipv4());
        Self { ipv4, ipv6 }
    }

    /// Returns the source addresses of the same address family as `address`.
    #[must_use]
    pub fn of(&self, address: &Address) -> &[IpAddr] {
        match address {
            Address::Tcp(address) if address.is_ipv4() => &self.ipv4,
            Address::Tcp(_) => &self.ipv6,
            Address::Unix(_) => &[],
        }
    }
}

/// Addresses that a host name resolves to, in the order of RFC 6724. A new connection first tries the address that
/// accepted a connection most recently, as RFC 8305, section 4, recommends.
#[derive(Debug, Clone)]
pub struct Ways {
    all: Vec<Address>,
    first: usize,
}

impl Ways {
    /// Creates the list in the order of the name's resolution; it must not be empty.
    #[must_use]
    pub fn new(all: Vec<Address>) -> Self {
        Self { all, first: 0 }
    }

    /// Returns all addresses, in the order of the name's resolution.
    #[must_use]
    pub fn all(&self) -> &[Address] {
        &self.all
    }

    /// Removes each IP address without a source address of the same family, unless no address would remain.
    pub fn within_reach(&mut self, sources: &Sources) {
        let reached = |address: &&Address| {
            matches!(address, Address::Unix(_)) || !sources.of(address).is_empty()
        };
        let reached: Vec<_> = self.all.iter().filter(reached).cloned().collect();
        if !reached.is_empty() {
            self.all = reached;
        }
    }

    /// Begins to try the addresses for a new connection.
    pub(super) fn begin(&self, choice: usize, turn: usize) -> Attempt {
        Attempt {
            choice,
            turn,
            first: self.first,
            tried: 0,
        }
    }

    /// Returns the address to try next, and the number of untried addresses including it; `None` after the last
    /// address.
    pub(super) fn next(&self, attempt: &Attempt) -> Option<(&Address, usize)> {
        let left = self.all.len() - attempt.tried;
        (left > 0).then(|| (&self.all[attempt.place(attempt.tried)], left))
    }

    /// Records that the address of the latest attempt accepted the connection.
    pub(super) fn remember(&mut self, attempt: &Attempt) {
        self.first = attempt.place(attempt.tried.saturating_sub(1));
    }

    /// Returns the addresses tried so far, in order; `None` if the host name has only one address.
    pub(super) fn tried(&self, attempt: &Attempt) -> Option<String> {
        let tried = (0..attempt.tried).map(|number| self.all[attempt.place(number)].to_string());
        (self.all.len() > 1).then(|| tried.collect::<Vec<_>>().join(", "))
    }
}

/// Progress of a connection that tries the addresses of a host name one after the other.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attempt {
    /// Index of the host name in the target's list of host names.
    pub(super) choice: usize,
    /// Number that selects the source address, in rotation.
    pub(super) turn: usize,
    /// Index of the resolved address that is tried first.
    first: usize,
    /// Number of resolved addresses tried so far.
    pub(super) tried: usize,
}

impl Attempt {
    /// Returns the index of the address for attempt `number`, from 0: first the preferred address, then all other
    /// addresses in the order of resolution.
    fn place(&self, number: usize) -> usize {
        match number {
            0 => self.first,
            _ if number <= self.first => number - 1,
            _ => number,
        }
    }
}

impl TargetState {
    /// Returns the number of addresses to which users are permanently assigned; 0 if a user may use any address.
    pub(super) fn places(&self) -> usize {
        if self.balance == Balance::User {
            self.addresses.len()
        } else {
            0
        }
    }

    /// Returns the index of the address for the next session of a driver; 0 if the driver needs no address.
    pub(super) fn session_turn(&mut self, rank: u32, random: impl FnOnce(u64) -> u64) -> usize {
        if self.addresses.is_empty() {
            return 0;
        }
        self.turn(rank, random).0
    }

    /// Returns the indices of the target address and of the source address for the next connection. The source address
    /// changes after each round over all target addresses, so that every pair is used.
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
            addresses: vec![Ways::new(vec![Address::Tcp(address)]); addresses],
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
    fn each_way_to_choose_an_address_also_rotates_the_sources() {
        let turns = |balance: Balance| {
            let mut target = TargetState {
                balance,
                ..place(3)
            };
            target.next = 2;
            let drawn = |count: u64| count - 1;
            [0, 1].map(|rank| target.turn(rank + 4, drawn))
        };
        assert_eq!(turns(Balance::RoundRobin), [(2, 0), (0, 1)]);
        assert_eq!(turns(Balance::Random), [(2, 2), (2, 3)]);
        assert_eq!(turns(Balance::User), [(1, 0), (2, 1)]);
    }

    #[test]
    fn a_driver_without_addresses_has_the_first_place() {
        assert_eq!(place(0).session_turn(7, |_| 0), 0);
        let mut target = place(2);
        assert_eq!([0, 0, 0].map(|_| target.session_turn(7, |_| 0)), [0, 1, 0]);
        assert_eq!(target.places(), 0);
        target.balance = Balance::User;
        assert_eq!((target.places(), target.session_turn(3, |_| 0)), (2, 1));
    }

    #[test]
    fn a_name_with_one_address_lists_none_that_it_tried() {
        let single = ways(&["127.0.0.1:80"]);
        let attempt = Attempt {
            tried: 1,
            ..single.begin(0, 0)
        };
        assert_eq!(
            (single.tried(&attempt), single.next(&attempt)),
            (None, None)
        );
        assert_eq!(
            single.next(&single.begin(0, 0)).map(|(_, left)| left),
            Some(1)
        );
    }

    fn ways(texts: &[&str]) -> Ways {
        let parse = |text: &&str| Address::Tcp(text.parse().expect("an address"));
        Ways::new(texts.iter().map(parse).collect())
    }

    /// Returns the order in which a connection tries the addresses until all have failed.
    fn order(ways: &Ways) -> String {
        let mut attempt = ways.begin(0, 0);
        while let Some((_, left)) = ways.next(&attempt) {
            attempt.tried += 1;
            assert_eq!(left + attempt.tried, ways.all().len() + 1);
        }
        ways.tried(&attempt).unwrap_or_default()
    }

    #[test]
    fn all_addresses_of_a_name_are_tried_and_the_one_that_answered_comes_first_from_then_on() {
        let mut ways = ways(&["[::1]:80", "127.0.0.1:80", "127.0.0.2:80"]);
        assert_eq!(order(&ways), "[::1]:80, 127.0.0.1:80, 127.0.0.2:80");
        let attempt = Attempt {
            tried: 3,
            ..ways.begin(0, 0)
        };
        ways.remember(&attempt);
        assert_eq!(order(&ways), "127.0.0.2:80, [::1]:80, 127.0.0.1:80");
        // An attempt that began before the preferred address changed keeps the order of its addresses.
        assert_eq!(
            ways.tried(&attempt).as_deref(),
            Some("[::1]:80, 127.0.0.1:80, 127.0.0.2:80")
        );
        let second = Attempt {
            tried: 2,
            ..ways.begin(0, 0)
        };
        ways.remember(&second);
        assert_eq!(order(&ways), "[::1]:80, 127.0.0.1:80, 127.0.0.2:80");
    }

    #[test]
    fn addresses_that_no_source_reaches_are_left_out() {
        let sources = Sources::new(&["127.0.0.2".parse().expect("an address")]);
        let mut both = ways(&["[::1]:80", "127.0.0.1:80"]);
        both.within_reach(&sources);
        assert_eq!(both.all(), ways(&["127.0.0.1:80"]).all());
        let mut none = ways(&["[::1]:80"]);
        none.within_reach(&sources);
        assert_eq!(none.all().len(), 1, "a fault names it");
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
