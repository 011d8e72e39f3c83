//! Transitions out of a state: arrivals, and phases of service that end.

use super::{Bounded, Order, State};

/// Returns the share of `jobs` that `servers` can serve at once.
fn share(jobs: u64, servers: u64) -> f64 {
    if jobs <= servers {
        1.0
    } else {
        servers as f64 / jobs as f64
    }
}

impl Bounded<'_> {
    /// Returns all transitions out of a state, as pairs of rate and next state.
    pub(super) fn moves(&self, state: &State) -> Vec<(f64, State)> {
        let mut found = self.arrivals(state);
        found.extend(self.services(state));
        found
    }

    fn arrivals(&self, state: &State) -> Vec<(f64, State)> {
        let (present, mut found) = (self.present(state), Vec::new());
        for number in 0..self.streams.len() {
            let incoming = &self.streams[number];
            let mut ends = vec![(incoming.rate, state.clone())];
            if let Some(gaps) = &incoming.gaps {
                let phase = state[number] as usize;
                let rate = gaps.rates[phase] * incoming.rate;
                if gaps.goes_on[phase] > 0.0 {
                    let mut next = state.clone();
                    next[number] += 1;
                    found.push((rate * gaps.goes_on[phase], next));
                }
                let ended = rate * (1.0 - gaps.goes_on[phase]);
                ends = (gaps.begin.iter().enumerate())
                    .map(|(begin, share)| {
                        let mut next = state.clone();
                        next[number] = begin as u16;
                        (ended * share, next)
                    })
                    .collect();
            }
            for (rate, after) in ends.into_iter().filter(|(rate, _)| *rate > 0.0) {
                if present < self.capacity {
                    let joined = self.joined(&after, number, present);
                    found.extend(joined.into_iter().map(|(share, next)| (rate * share, next)));
                } else {
                    found.push((rate, after));
                }
            }
        }
        found
    }

    /// Returns the share of the jobs of a kind in service that are not interrupted. Jobs of the same rank are interrupted
    /// with the same probability.
    fn active(&self, state: &State, place: usize) -> f64 {
        let kind = &self.kinds[place];
        match self.order {
            Order::Turn | Order::Shared => 1.0,
            Order::Interrupted => {
                let before: u64 = self.kinds[..place]
                    .iter()
                    .map(|other| other.count(state))
                    .sum();
                share(kind.count(state), self.servers.saturating_sub(before))
            }
            Order::Resumed => {
                let before: u64 = (0..kind.queue).map(|queue| self.begun(state, queue)).sum();
                share(
                    self.begun(state, kind.queue),
                    self.servers.saturating_sub(before),
                )
            }
        }
    }

    fn services(&self, state: &State) -> Vec<(f64, State)> {
        let (present, mut found) = (self.present(state), Vec::new());
        let pace = self.pace(present);
        for (place, kind) in self.kinds.iter().enumerate() {
            let active = self.active(state, place);
            for phase in 0..kind.phases.count() {
                let served = f64::from(state[kind.first + phase]) * active;
                if served == 0.0 {
                    continue;
                }
                let rate = served * pace * kind.phases.rates[phase] / kind.mean;
                let on = kind.phases.goes_on[phase];
                let mut next = state.clone();
                next[kind.first + phase] -= 1;
                if on < 1.0 {
                    let after = self.followed(&next);
                    found.extend(
                        after
                            .into_iter()
                            .map(|(share, next)| (rate * (1.0 - on) * share, next)),
                    );
                }
                if on > 0.0 {
                    next[kind.first + phase + 1] += 1;
                    found.push((rate * on, next));
                }
            }
        }
        found
    }
}
