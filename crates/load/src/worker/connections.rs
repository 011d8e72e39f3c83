//! Connections: assigns them to exchanges, opens them and closes them.

use std::io;

use crate::outcome::Failure;
use crate::sys::Socket;

use super::interpret::Flow;
use super::pool::Pool;
use super::reasons::Reason;
use super::user::{NONE, Phase};
use super::{TargetState, Worker};

/// Rule by which connections are assigned to exchanges.
#[derive(Debug)]
pub(super) enum Model {
    /// Each user has a connection to each target, with the index `user * targets + target`.
    PerUser,
    /// The users share one pool of connections for each target.
    Pool(Vec<Pool>),
    /// Each request opens a connection, which has the index of its user.
    NewEachTime,
}

/// Rule by which the users of one load thread own connections, as set in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// Every user has its own connections.
    PerUser,
    /// The users share a pool of connections to each target; the value is its size in this thread.
    Pool(usize),
    /// Every request has its own connection.
    NewEachTime,
}

impl Ownership {
    /// Returns the rule for assigning connections, and the number of connections that the thread can have.
    pub(super) fn model(self, users: usize, targets: &[TargetState]) -> (Model, usize) {
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

/// Returns the number that identifies a connection in its events. It contains the generation of the socket, so that
/// events of an earlier socket are recognized.
fn event_data(connection: usize, generation: u32) -> u64 {
    (u64::from(generation) << 32) | connection as u64
}

impl Worker<'_> {
    /// Gives an exchange an existing or a new connection. If the pool has no free connection, the exchange waits for
    /// one.
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
                self.open_stream_in_turn(exchange, connection);
                return Flow::Wait;
            }
            // The connection accepts no further request, and its last request has ended.
            self.close(connection);
        }
        let place = &mut self.connections[connection];
        place.exchange = exchange as u32;
        place.answered = false;
        self.exchanges[exchange].reused = place.phase == Phase::Idle;
        if place.phase == Phase::Idle {
            place.phase = Phase::Busy;
            self.send(exchange);
            return Flow::Wait;
        }
        self.exchanges[exchange].connecting_ns = now_ns;
        self.choose_name(exchange);
        if let Err(reason) = self.try_next(exchange, connection, None, now_ns) {
            self.reasons.count(reason);
            return self.finish(exchange, Err(Failure::Connect), now_ns, true);
        }
        Flow::Wait
    }

    /// Chooses one of the target's addresses for a new connection.
    fn choose_name(&mut self, exchange: usize) {
        let entry = &mut self.exchanges[exchange];
        let user = &mut self.users[entry.user as usize];
        let target = &mut self.targets[self.program.requests[entry.request as usize].target];
        let (choice, turn) = target.turn(user.rank, |count| user.random.below(count));
        entry.attempt = target.addresses[choice].begin(choice, turn);
    }

    /// Begins to connect to the next address of the host name; `met` is the reason why the previous address failed.
    /// The remaining time is divided equally among the remaining addresses: an address that does not respond must leave
    /// time for later addresses.
    ///
    /// # Errors
    /// The reason why the last address failed, after all addresses were tried.
    fn try_next(
        &mut self,
        exchange: usize,
        connection: usize,
        met: Option<Reason>,
        now_ns: u64,
    ) -> Result<(), Reason> {
        let mut met = met;
        let entry = &self.exchanges[exchange];
        let request = &self.program.requests[entry.request as usize];
        let until_ns = (entry.connecting_ns + self.connect_timeout_ns)
            .min(entry.started_ns + request.timeout_ns);
        while now_ns < until_ns || met.is_none() {
            let Some((begun, left)) = self.begin_next(exchange, connection) else {
                break;
            };
            match begun {
                Ok(()) => {
                    let share_ns = until_ns.saturating_sub(now_ns) / left as u64;
                    let give_up_ns = if left == 1 {
                        until_ns
                    } else {
                        now_ns + share_ns
                    };
                    self.set_deadline(exchange, give_up_ns);
                    return Ok(());
                }
                Err(error) => met = Some(Reason::of(&error)),
            }
        }
        let attempt = &self.exchanges[exchange].attempt;
        let reason = met.unwrap_or(Reason::Late);
        let tried = self.targets[request.target].addresses[attempt.choice].tried(attempt);
        Err(match tried {
            Some(tried) => Reason::Tried(tried, Box::new(reason)),
            None => reason,
        })
    }

    /// Begins to connect to the next address. Returns the number of addresses left, including this address, or `None`
    /// after the last address.
    fn begin_next(
        &mut self,
        exchange: usize,
        connection: usize,
    ) -> Option<(io::Result<()>, usize)> {
        let entry = &mut self.exchanges[exchange];
        let target = &self.targets[self.program.requests[entry.request as usize].target];
        let (address, left) = target.addresses[entry.attempt.choice].next(&entry.attempt)?;
        let sources = self.sources.of(address);
        let source = (!sources.is_empty()).then(|| sources[entry.attempt.turn % sources.len()]);
        entry.attempt.tried += 1;
        let secure = target.tls.is_some();
        let socket = Socket::connect(address, source);
        Some((self.watch(connection, socket, secure), left))
    }

    fn watch(
        &mut self,
        connection: usize,
        socket: io::Result<Socket>,
        secure: bool,
    ) -> io::Result<()> {
        let socket = socket?;
        let place = &mut self.connections[connection];
        place.generation = place.generation.wrapping_add(1);
        place.secure = secure;
        place.ended = false;
        self.epoll
            .add(&socket, event_data(connection, place.generation))?;
        place.socket = Some(socket);
        place.phase = Phase::Connecting;
        Ok(())
    }

    /// Handles an address that accepted no connection: tries the next address of the same host name.
    pub(super) fn refused(
        &mut self,
        exchange: usize,
        connection: usize,
        reason: Reason,
        now_ns: u64,
    ) {
        if let Err(reason) = self.try_next(exchange, connection, Some(reason), now_ns) {
            self.fail_to_connect(exchange, reason, now_ns);
        }
    }

    /// Handles the end of an attempt to connect, successful or not.
    pub(super) fn connected(&mut self, connection: usize) {
        let place = &self.connections[connection];
        let exchange = place.exchange as usize;
        let now_ns = self.tick();
        let place = &self.connections[connection];
        let met = place.socket.as_ref().map(Socket::take_error);
        if let Some(Ok(Some(error)) | Err(error)) = met {
            self.refused(exchange, connection, Reason::of(&error), now_ns);
            return;
        }
        let entry = &self.exchanges[exchange];
        let target = self.program.requests[entry.request as usize].target;
        self.targets[target].addresses[entry.attempt.choice].remember(&entry.attempt);
        let connecting_ns = self.exchanges[exchange].connecting_ns;
        self.recorder.connect(now_ns.saturating_sub(connecting_ns));
        if self.connections[connection].secure {
            self.begin_handshake(exchange, connection, now_ns);
        } else {
            self.established(exchange, connection);
        }
    }

    /// Handles an established connection: sends the request.
    pub(super) fn established(&mut self, exchange: usize, connection: usize) {
        let entry = &self.exchanges[exchange];
        let timeout_ns = self.program.requests[entry.request as usize].timeout_ns;
        self.set_deadline(exchange, entry.started_ns + timeout_ns);
        self.open_connections += 1;
        if self.program.requests[self.exchanges[exchange].request as usize].is_http2() {
            self.begin_link(exchange, connection);
            return;
        }
        let place = &mut self.connections[connection];
        place.phase = Phase::Busy;
        // In HTTP/1 the client sends first. Bytes that have already arrived would be taken for the response, so they
        // are counted as unrequested.
        if !place.secure && place.socket.as_ref().is_some_and(Socket::has_bytes) {
            self.recorder.unasked();
        }
        self.send(exchange);
    }

    /// Closes an idle connection that has become readable: either the stream has ended, or bytes have arrived that
    /// cannot be a response.
    pub(super) fn close_unasked(&mut self, connection: usize) {
        let socket = self.connections[connection].socket.as_ref();
        if socket.is_some_and(Socket::has_bytes) {
            self.recorder.unasked();
        }
        self.close(connection);
    }

    pub(super) fn fail_to_connect(&mut self, exchange: usize, reason: Reason, now_ns: u64) {
        self.reasons.count(reason);
        self.end_exchange(exchange, Err(Failure::Connect), now_ns, true);
    }

    /// Handles the connection of an ended exchange: keeps it, returns it to its pool, or closes it.
    #[inline]
    pub(super) fn release(&mut self, connection: usize, target: usize, close: bool, now_ns: u64) {
        if matches!(self.model, Model::NewEachTime) {
            self.part(connection, now_ns);
        } else if self.connections[connection].phase == Phase::Shared {
            // The connection is not closed, since it carries other requests.
        } else if close {
            self.close(connection);
        } else {
            self.connections[connection].phase = Phase::Idle;
        }
        if let Model::Pool(pools) = &mut self.model {
            pools[target].put_back(connection as u32, !close);
        }
    }

    /// Gives free connections to the exchanges that wait for them.
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
            // If the request fails to connect, its connection becomes available again, and the loop continues with the
            // next request.
            let _ = self.launch_over(exchange, connection, now_ns);
        }
    }

    /// Ends the wait of an exchange for a connection, whether or not it gets one.
    pub(super) fn end_wait(&mut self, exchange: usize, now_ns: u64) {
        let entry = &mut self.exchanges[exchange];
        if entry.ticket != 0 {
            entry.ticket = 0;
            // The wait of a request that is sent again was already recorded.
            if entry.sent_again == 0 {
                self.recorder
                    .connection_wait(now_ns.saturating_sub(entry.started_ns));
            }
        }
    }

    /// Ends a connection after its only request. If the response was complete, the server is given time to close the
    /// connection first.
    fn part(&mut self, connection: usize, now_ns: u64) {
        let place = &self.connections[connection];
        let (answered, ended) = (place.answered, place.ended);
        let data = event_data(connection, place.generation);
        if let Some(socket) = self.let_go(connection) {
            if ended {
                drop(socket);
            } else if answered {
                self.lingering.begin(data, socket, now_ns);
            } else {
                socket.abort();
            }
        }
    }

    pub(super) fn close(&mut self, connection: usize) {
        drop(self.let_go(connection));
    }

    /// Removes and returns the socket of a connection. With TLS, `close_notify` is sent first.
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

    /// Closes the connections that belong to a user that has left.
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
