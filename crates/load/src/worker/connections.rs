//! Connections: who gets which, how they are made, and how they end.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::net::IpAddr;

use crate::outcome::Failure;
use crate::plan::Balance;
use crate::sys::{Address, Event, Socket};

use super::interpret::Flow;
use super::pool::Pool;
use super::user::{NONE, Phase};
use super::{TargetPlace, Worker};

/// How long a connection of one request waits for the server to close it, before it is reset. [ns]
const PARTING_NS: u64 = 1_000_000_000;

/// Connections of one request that wait for the server to close; beyond that the oldest is reset.
pub const PARTING_AT_MOST: usize = 1024;

/// Kinds of connect failures told apart by name; a server that makes up new ones must not fill the memory.
const REASONS_AT_MOST: usize = 64;

/// Who owns a connection.
#[derive(Debug)]
pub(super) enum Model {
    /// Place `user * targets + target`.
    PerUser,
    /// One pool for each target.
    Pool(Vec<Pool>),
    /// Place `user`, made for each request.
    NewEachTime,
}

/// Connections that a plan asks for, as far as one thread has to do with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// Every user has its own.
    PerUser,
    /// So many to each target in this thread.
    Pool(usize),
    /// Every request has its own.
    NewEachTime,
}

impl Ownership {
    /// The model, and how many places for connections it takes.
    pub(super) fn model(self, users: usize, targets: &[TargetPlace]) -> (Model, usize) {
        match self {
            Self::PerUser => (Model::PerUser, users * targets.len()),
            Self::NewEachTime => (Model::NewEachTime, users),
            Self::Pool(size) => {
                let pools = targets.iter().enumerate().map(|(number, target)| {
                    let places = (number * size) as u32..((number + 1) * size) as u32;
                    if target.http2 {
                        Pool::shared(places)
                    } else {
                        Pool::new(places)
                    }
                });
                (Model::Pool(pools.collect()), targets.len() * size)
            }
        }
    }
}

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

    /// Those that can reach an address.
    #[must_use]
    pub fn of(&self, address: &Address) -> &[IpAddr] {
        match address {
            Address::Tcp(address) if address.is_ipv4() => &self.ipv4,
            Address::Tcp(_) => &self.ipv6,
            Address::Unix(_) => &[],
        }
    }
}

impl TargetPlace {
    /// Addresses that users are dealt over for good; 0 where a user may come to any.
    pub(super) fn places(&self) -> usize {
        if self.balance == Balance::User {
            self.addresses.len()
        } else {
            0
        }
    }

    /// The address of the next session of a driver; there may be none to choose from.
    pub(super) fn session_turn(&mut self, rank: u32, random: impl FnOnce(u64) -> u64) -> usize {
        if self.addresses.is_empty() {
            return 0;
        }
        self.turn(rank, random).0
    }

    /// The address of the next connection of a user of this rank and the turn of its source. Sources change once all
    /// addresses had their turn, so that each pair comes up.
    fn turn(&mut self, rank: u32, random: impl FnOnce(u64) -> u64) -> (usize, usize) {
        let (turn, count) = (self.next, self.addresses.len());
        self.next = turn.wrapping_add(1);
        match self.balance {
            Balance::RoundRobin => (turn % count, turn / count),
            Balance::Random => (random(count as u64) as usize, turn),
            Balance::User => (rank as usize % count, turn / count),
        }
    }
}

/// Why a connection could not be made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// What the system said, by its number.
    System(i32),
    /// Time was up before the connection stood.
    Late,
    /// Time was up before the handshake was done.
    HandshakeLate,
    /// The server closed within the handshake.
    HandshakeClosed,
    /// What is wrong with TLS.
    Tls(String),
    /// The server does not speak HTTP/2.
    NoHttp2,
    /// The server closed before it had said how it speaks HTTP/2.
    NoSettings,
    /// What a driver said.
    Driver(String),
    /// Anything beyond [`REASONS_AT_MOST`].
    Other,
}

impl Reason {
    pub(super) fn of(error: &io::Error) -> Self {
        error.raw_os_error().map_or(Self::Other, Self::System)
    }

    fn text(&self) -> String {
        match self {
            Self::System(number) => io::Error::from_raw_os_error(*number).to_string(),
            Self::Late => "no connection within the time".to_owned(),
            Self::HandshakeLate => "no TLS handshake within the time".to_owned(),
            Self::HandshakeClosed => "closed within the TLS handshake".to_owned(),
            Self::Tls(text) => format!("TLS: {text}"),
            Self::NoHttp2 => "no HTTP/2".to_owned(),
            Self::NoSettings => "closed before the settings of HTTP/2".to_owned(),
            Self::Driver(text) => text.clone(),
            Self::Other => "other".to_owned(),
        }
    }
}

/// Failed connections by reason.
#[derive(Debug, Default)]
pub(super) struct Reasons(BTreeMap<Reason, u64>);

impl Reasons {
    pub(super) fn count(&mut self, reason: Reason) {
        let known = self.0.len() < REASONS_AT_MOST || self.0.contains_key(&reason);
        let reason = if known { reason } else { Reason::Other };
        *self.0.entry(reason).or_default() += 1;
    }

    pub(super) fn texts(&self) -> BTreeMap<String, u64> {
        let each = self.0.iter();
        each.map(|(reason, count)| (reason.text(), *count))
            .collect()
    }
}

/// Connections of one request that wait for the server to close first: who closes first keeps the port for a minute
/// (TIME-WAIT of RFC 9293), and this side needs its ports.
#[derive(Debug, Default)]
pub(super) struct Parting {
    sockets: HashMap<u64, Socket>,
    until_ns: VecDeque<(u64, u64)>,
}

impl Parting {
    fn begin(&mut self, data: u64, socket: Socket, now_ns: u64) {
        self.sockets.insert(data, socket);
        self.until_ns.push_back((now_ns + PARTING_NS, data));
        while self.sockets.len() > PARTING_AT_MOST {
            self.abort_first();
        }
    }

    fn abort_first(&mut self) {
        if let Some((_, data)) = self.until_ns.pop_front()
            && let Some(socket) = self.sockets.remove(&data)
        {
            socket.abort();
        }
    }

    /// The server has closed one, perhaps.
    pub(super) fn on_event(&mut self, event: Event) {
        if !self.sockets.is_empty() && event.closed() {
            self.sockets.remove(&event.data);
        }
    }

    /// Resets those whose time is over.
    pub(super) fn sweep(&mut self, now_ns: u64) {
        while self.next_ns().is_some_and(|until_ns| until_ns <= now_ns) {
            self.abort_first();
        }
    }

    /// When to look next. [ns]
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.until_ns.front().map(|(until_ns, _)| *until_ns)
    }
}

/// Data of the events of a connection: an event of an earlier socket in the same place has another generation.
fn event_data(connection: usize, generation: u32) -> u64 {
    (u64::from(generation) << 32) | connection as u64
}

impl Worker<'_> {
    /// Sends over the connection there is, or makes one, or waits for one.
    #[inline]
    pub(super) fn launch(&mut self, exchange: usize, target: usize, now_ns: u64) -> Flow {
        let user = self.exchanges[exchange].user as usize;
        let connection = match &mut self.model {
            Model::PerUser => user * self.targets.len() + target,
            Model::NewEachTime => user,
            Model::Pool(pools) => {
                let Some(place) = pools[target].take(&self.connections) else {
                    self.tickets += 1;
                    self.exchanges[exchange].ticket = self.tickets;
                    pools[target].wait(exchange as u32, self.tickets);
                    return Flow::Wait;
                };
                self.recorder.connection_wait(0);
                place as usize
            }
        };
        self.launch_over(exchange, connection, now_ns)
    }

    pub(super) fn launch_over(&mut self, exchange: usize, connection: usize, now_ns: u64) -> Flow {
        self.exchanges[exchange].connection = connection as u32;
        if self.connections[connection].phase == Phase::Shared {
            if !self.is_draining(connection) {
                self.open_stream(exchange, connection);
                return Flow::Wait;
            }
            // Of a user's own; its last request is over.
            self.close(connection);
        }
        let place = &mut self.connections[connection];
        place.exchange = exchange as u32;
        place.answered = false;
        if place.phase == Phase::Idle {
            place.phase = Phase::Busy;
            self.send(exchange);
            return Flow::Wait;
        }
        self.exchanges[exchange].connecting_ns = now_ns;
        if let Err(error) = self.connect(exchange, connection) {
            self.reasons.count(Reason::of(&error));
            return self.finish(exchange, Err(Failure::Connect), now_ns, true);
        }
        let give_up_ns =
            (now_ns + self.connect_timeout_ns).min(self.exchanges[exchange].deadline_ns);
        self.set_deadline(exchange, give_up_ns, now_ns);
        Flow::Wait
    }

    fn connect(&mut self, exchange: usize, connection: usize) -> io::Result<()> {
        let one = &self.exchanges[exchange];
        let target = self.program.requests[one.request as usize].target;
        let user = &mut self.users[one.user as usize];
        let target = &mut self.targets[target];
        let (choice, turn) = target.turn(user.rank, |count| user.random.below(count));
        let address = &target.addresses[choice];
        let sources = self.sources.of(address);
        let source = (!sources.is_empty()).then(|| sources[turn % sources.len()]);
        let socket = Socket::connect(address, source)?;
        let place = &mut self.connections[connection];
        place.generation = place.generation.wrapping_add(1);
        place.secure = target.tls.is_some();
        place.ended = false;
        self.epoll
            .add(&socket, event_data(connection, place.generation))?;
        place.socket = Some(socket);
        place.phase = Phase::Connecting;
        Ok(())
    }

    /// The socket is connected, or it failed.
    pub(super) fn connected(&mut self, connection: usize) {
        let place = &self.connections[connection];
        let exchange = place.exchange as usize;
        let now_ns = self.tick();
        let place = &self.connections[connection];
        let met = place.socket.as_ref().map(Socket::take_error);
        if let Some(Ok(Some(error)) | Err(error)) = met {
            self.fail_to_connect(exchange, Reason::of(&error), now_ns);
            return;
        }
        let connecting_ns = self.exchanges[exchange].connecting_ns;
        self.recorder.connect(now_ns.saturating_sub(connecting_ns));
        if self.connections[connection].secure {
            self.begin_handshake(exchange, connection, now_ns);
        } else {
            self.established(exchange, connection, now_ns);
        }
    }

    /// Nothing is between user and server any more: the request is sent.
    pub(super) fn established(&mut self, exchange: usize, connection: usize, now_ns: u64) {
        let one = &self.exchanges[exchange];
        let timeout_ns = self.program.requests[one.request as usize].timeout_ns;
        self.set_deadline(exchange, one.started_ns + timeout_ns, now_ns);
        self.open_connections += 1;
        if self.program.requests[self.exchanges[exchange].request as usize].is_http2() {
            self.begin_link(exchange, connection);
            return;
        }
        self.connections[connection].phase = Phase::Busy;
        self.send(exchange);
    }

    pub(super) fn fail_to_connect(&mut self, exchange: usize, reason: Reason, now_ns: u64) {
        self.reasons.count(reason);
        self.end_exchange(exchange, Err(Failure::Connect), now_ns, true);
    }

    /// An exchange has ended: its connection is kept, handed back or closed.
    #[inline]
    pub(super) fn release(&mut self, connection: usize, target: usize, close: bool, now_ns: u64) {
        if matches!(self.model, Model::NewEachTime) {
            self.part(connection, now_ns);
        } else if self.connections[connection].phase == Phase::Shared {
            // It goes on with what else it carries.
        } else if close {
            self.close(connection);
        } else {
            self.connections[connection].phase = Phase::Idle;
        }
        if let Model::Pool(pools) = &mut self.model {
            pools[target].put_back(connection as u32, !close);
        }
    }

    /// Hands what is free to those who wait for it.
    #[inline]
    pub(super) fn serve_waiting(&mut self, target: usize) {
        while matches!(self.model, Model::Pool(_)) {
            let now_ns = self.tick();
            let Model::Pool(pools) = &mut self.model else {
                return;
            };
            let next = pools[target].serve(now_ns, &self.exchanges, &self.connections);
            let Some((exchange, connection)) = next else {
                return;
            };
            self.end_wait(exchange, now_ns);
            // One that cannot connect gives its place back at once; the next one tries.
            let _ = self.launch_over(exchange, connection, now_ns);
        }
    }

    /// An exchange no longer waits for a connection: it got one, or gave up.
    pub(super) fn end_wait(&mut self, exchange: usize, now_ns: u64) {
        let one = &mut self.exchanges[exchange];
        if one.ticket != 0 {
            one.ticket = 0;
            // One that is sent again has been told.
            if one.sent_again == 0 {
                self.recorder
                    .connection_wait(now_ns.saturating_sub(one.started_ns));
            }
        }
    }

    /// A connection made for one request has served it.
    fn part(&mut self, connection: usize, now_ns: u64) {
        let place = &self.connections[connection];
        let (answered, ended) = (place.answered, place.ended);
        let data = event_data(connection, place.generation);
        if let Some(socket) = self.let_go(connection) {
            if ended {
                drop(socket);
            } else if answered {
                self.parting.begin(data, socket, now_ns);
            } else {
                socket.abort();
            }
        }
    }

    pub(super) fn close(&mut self, connection: usize) {
        drop(self.let_go(connection));
    }

    /// Takes the socket out of its place, with a farewell where TLS wants one.
    fn let_go(&mut self, connection: usize) -> Option<Socket> {
        let phase = self.connections[connection].phase;
        let is_open = matches!(phase, Phase::Busy | Phase::Idle | Phase::Shared);
        if phase == Phase::Shared {
            self.end_link(connection);
        }
        if self.connections[connection].secure {
            self.end_session(connection, is_open);
        }
        let place = &mut self.connections[connection];
        place.phase = Phase::Closed;
        place.exchange = NONE;
        let socket = place.socket.take();
        if socket.is_some() && is_open {
            self.open_connections = self.open_connections.saturating_sub(1);
        }
        socket
    }

    /// A user is gone, with the connections that are its own.
    pub(super) fn close_all_of(&mut self, user: usize) {
        self.close_sessions(user);
        let count = self.targets.len();
        let own = match self.model {
            Model::PerUser => user * count..(user + 1) * count,
            Model::NewEachTime => user..user + 1,
            Model::Pool(_) => return,
        };
        for connection in own {
            self.close(connection);
            if !self.sessions.is_empty() {
                self.forget_sessions(connection);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(addresses: usize) -> TargetPlace {
        let address = "127.0.0.1:1".parse().expect("an address");
        TargetPlace {
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
        let pairs: Vec<_> = turns.iter().map(|(one, turn)| (*one, turn % 2)).collect();
        assert_eq!(pairs, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 0), (1, 0)]);
    }

    #[test]
    fn a_user_stays_with_its_address_however_often_it_connects() {
        let mut target = TargetPlace {
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

    #[test]
    fn reasons_are_bounded() {
        let mut reasons = Reasons::default();
        for number in 0..1000 {
            reasons.count(Reason::Tls(number.to_string()));
        }
        let texts = reasons.texts();
        assert_eq!(texts.len(), REASONS_AT_MOST + 1);
        assert_eq!(texts["other"], 1000 - REASONS_AT_MOST as u64);
        assert_eq!(texts["TLS: 7"], 1);
    }
}
