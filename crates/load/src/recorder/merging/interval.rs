//! Results of one interval of a load thread, as they are in a line of kind `interval`, and their sums.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::Unmergeable;
use crate::histogram::{Entries, Histogram};

/// Number that must not be larger than `MOST`, so that a sum over many intervals is still a plausible number.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize)]
struct Bounded<const MOST: u64>(u64);

/// Count of one interval. [1]
type Count = Bounded<100_000_000_000>;
/// Sum of times of one interval. [ns]
type Span = Bounded<100_000_000_000_000_000>;

impl<'de, const MOST: u64> Deserialize<'de> for Bounded<MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(from)?;
        (number <= MOST)
            .then_some(Self(number))
            .ok_or_else(|| D::Error::custom("the number is too large"))
    }
}

impl<const MOST: u64> AddAssign for Bounded<MOST> {
    fn add_assign(&mut self, more: Self) {
        self.0 = self.0.saturating_add(more.0);
    }
}

type Counts<'a> = BTreeMap<&'a str, Count>;

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Interval,
}

/// Line of kind `interval`. `H` is a histogram: encoded, decoded, or the sum of several histograms.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Interval<'a, H> {
    k: Kind,
    seq: u64,
    pub(super) t0_ns: u64,
    pub(super) t1_ns: u64,
    pub(super) stage: u64,
    users: Count,
    user_ns: Span,
    in_flight: Count,
    connections: Count,
    cpu_ns: Span,
    #[serde(default, skip_serializing_if = "is_zero")]
    waiting: Count,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gap_ns: Option<Span>,
    #[serde(default, skip_serializing_if = "is_zero")]
    stalled_ns: Span,
    /// Start, end, stalled time and longest gap of each merged interval with a stall. [ns]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stalls: Vec<[u64; 4]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    framing: Option<Framing>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lag: Option<H>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connect: Option<H>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connection_wait: Option<H>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls: Option<H>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    handshakes: Option<Counts<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    think: Option<Think>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thinks: Option<Vec<Pauses<H>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arrivals: Option<Vec<Count>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gaps: Option<H>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gaps_sum_ns: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    places: Option<Places>,
    #[serde(borrow)]
    series: Vec<Series<'a, H>>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Framing {
    surplus: Count,
    unasked: Count,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Think {
    count: Count,
    sum_ns: Span,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Pauses<H> {
    group: u64,
    pause: H,
    pause_sum_ns: Span,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Places {
    ok: Vec<Count>,
    failed: Vec<Count>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Series<'a, H> {
    of: &'a str,
    id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    picked: Option<Count>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offered: Option<Count>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started: Option<Count>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes_out: Option<Count>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes_in: Option<Count>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    not_started: Option<Counts<'a>>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    status_codes: Option<Counts<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ok: Option<Count>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    failed: Option<Counts<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<H>,
    #[serde(default)]
    response_sum_ns: Span,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    saturated: Option<Count>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exchange: Option<H>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exchange_sum_ns: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_byte: Option<H>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero<const MOST: u64>(number: &Bounded<MOST>) -> bool {
    number.0 == 0
}

pub(super) fn sum_of(entries: &Entries) -> Histogram<u64> {
    let mut sum = Histogram::new();
    sum.add(entries);
    sum
}

fn add_histogram(sum: &mut Option<Histogram<u64>>, more: Option<Entries>) {
    if let Some(entries) = more {
        sum.get_or_insert_default().add(&entries);
    }
}

fn add_number<const MOST: u64>(sum: &mut Option<Bounded<MOST>>, more: Option<Bounded<MOST>>) {
    if let Some(number) = more {
        *sum.get_or_insert_default() += number;
    }
}

fn add_counts<'a>(sum: &mut Option<Counts<'a>>, more: Option<Counts<'a>>) {
    let Some(more) = more else {
        return;
    };
    let sum = sum.get_or_insert_default();
    for (name, count) in more {
        *sum.entry(name).or_default() += count;
    }
}

fn add_each(sum: &mut Vec<Count>, more: &[Count]) {
    sum.resize(sum.len().max(more.len()), Count::default());
    for (whole, &part) in sum.iter_mut().zip(more) {
        *whole += part;
    }
}

impl<'a, H> Interval<'a, H> {
    /// Adds the interval itself to its stalls, unless it is merged already.
    pub(super) fn note_stall(&mut self) {
        if self.stalled_ns > Span::default() && self.stalls.is_empty() {
            let longest = self.gap_ns.unwrap_or_default().0;
            self.stalls
                .push([self.t0_ns, self.t1_ns, self.stalled_ns.0, longest]);
        }
    }

    /// Converts all histograms.
    pub(super) fn map<G>(
        self,
        to: &mut impl FnMut(H) -> Result<G, Unmergeable>,
    ) -> Result<Interval<'a, G>, Unmergeable> {
        Ok(Interval {
            k: self.k,
            seq: self.seq,
            t0_ns: self.t0_ns,
            t1_ns: self.t1_ns,
            stage: self.stage,
            users: self.users,
            user_ns: self.user_ns,
            in_flight: self.in_flight,
            connections: self.connections,
            cpu_ns: self.cpu_ns,
            waiting: self.waiting,
            gap_ns: self.gap_ns,
            stalled_ns: self.stalled_ns,
            stalls: self.stalls,
            framing: self.framing,
            lag: self.lag.map(&mut *to).transpose()?,
            connect: self.connect.map(&mut *to).transpose()?,
            connection_wait: self.connection_wait.map(&mut *to).transpose()?,
            tls: self.tls.map(&mut *to).transpose()?,
            handshakes: self.handshakes,
            think: self.think,
            thinks: self
                .thinks
                .map(|thinks| thinks.into_iter().map(|each| each.map(to)).collect())
                .transpose()?,
            arrivals: self.arrivals,
            gaps: self.gaps.map(&mut *to).transpose()?,
            gaps_sum_ns: self.gaps_sum_ns,
            places: self.places,
            series: self
                .series
                .into_iter()
                .map(|each| each.map(to))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl<H> Pauses<H> {
    fn map<G>(
        self,
        to: &mut impl FnMut(H) -> Result<G, Unmergeable>,
    ) -> Result<Pauses<G>, Unmergeable> {
        Ok(Pauses {
            group: self.group,
            pause: to(self.pause)?,
            pause_sum_ns: self.pause_sum_ns,
        })
    }
}

impl<'a, H> Series<'a, H> {
    fn map<G>(
        self,
        to: &mut impl FnMut(H) -> Result<G, Unmergeable>,
    ) -> Result<Series<'a, G>, Unmergeable> {
        Ok(Series {
            of: self.of,
            id: self.id,
            group: self.group,
            picked: self.picked,
            offered: self.offered,
            started: self.started,
            bytes_out: self.bytes_out,
            bytes_in: self.bytes_in,
            not_started: self.not_started,
            status_codes: self.status_codes,
            ok: self.ok,
            failed: self.failed,
            response: self.response.map(&mut *to).transpose()?,
            response_sum_ns: self.response_sum_ns,
            saturated: self.saturated,
            exchange: self.exchange.map(&mut *to).transpose()?,
            exchange_sum_ns: self.exchange_sum_ns,
            first_byte: self.first_byte.map(&mut *to).transpose()?,
        })
    }
}

impl<'a> Interval<'a, Histogram<u64>> {
    /// Adds the next interval of the same stage.
    pub(super) fn add(&mut self, next: Interval<'a, Entries>) {
        self.t1_ns = next.t1_ns;
        self.users = next.users;
        self.user_ns += next.user_ns;
        self.in_flight = next.in_flight;
        self.connections = next.connections;
        self.cpu_ns += next.cpu_ns;
        self.waiting = next.waiting;
        self.gap_ns = self.gap_ns.max(next.gap_ns);
        self.stalled_ns += next.stalled_ns;
        self.stalls.extend(next.stalls);
        if let Some(Framing { surplus, unasked }) = next.framing {
            let sum = self.framing.get_or_insert(Framing {
                surplus: Count::default(),
                unasked: Count::default(),
            });
            sum.surplus += surplus;
            sum.unasked += unasked;
        }
        add_histogram(&mut self.lag, next.lag);
        add_histogram(&mut self.connect, next.connect);
        add_histogram(&mut self.connection_wait, next.connection_wait);
        add_histogram(&mut self.tls, next.tls);
        add_counts(&mut self.handshakes, next.handshakes);
        if let Some(Think { count, sum_ns }) = next.think {
            let sum = self.think.get_or_insert(Think {
                count: Count::default(),
                sum_ns: Span::default(),
            });
            sum.count += count;
            sum.sum_ns += sum_ns;
        }
        for pauses in next.thinks.into_iter().flatten() {
            let thinks = self.thinks.get_or_insert_default();
            match thinks.iter_mut().find(|each| each.group == pauses.group) {
                Some(sum) => {
                    sum.pause.add(&pauses.pause);
                    sum.pause_sum_ns += pauses.pause_sum_ns;
                }
                None => thinks.push(Pauses {
                    group: pauses.group,
                    pause: sum_of(&pauses.pause),
                    pause_sum_ns: pauses.pause_sum_ns,
                }),
            }
        }
        if let Some(arrivals) = next.arrivals {
            add_each(self.arrivals.get_or_insert_default(), &arrivals);
        }
        add_histogram(&mut self.gaps, next.gaps);
        add_number(&mut self.gaps_sum_ns, next.gaps_sum_ns);
        if let Some(Places { ok, failed }) = next.places {
            let sum = self.places.get_or_insert(Places {
                ok: Vec::new(),
                failed: Vec::new(),
            });
            add_each(&mut sum.ok, &ok);
            add_each(&mut sum.failed, &failed);
        }
        for series in next.series {
            let same = |sum: &&mut Series<'a, Histogram<u64>>| {
                (sum.of, sum.id, sum.group) == (series.of, series.id, series.group)
            };
            match self.series.iter_mut().find(same) {
                Some(sum) => sum.add(series),
                None => self
                    .series
                    .extend(series.map(&mut |entries: Entries| Ok(sum_of(&entries)))),
            }
        }
    }
}

impl<'a> Series<'a, Histogram<u64>> {
    fn add(&mut self, next: Series<'a, Entries>) {
        add_number(&mut self.picked, next.picked);
        add_number(&mut self.offered, next.offered);
        add_number(&mut self.started, next.started);
        add_number(&mut self.bytes_out, next.bytes_out);
        add_number(&mut self.bytes_in, next.bytes_in);
        add_counts(&mut self.not_started, next.not_started);
        add_counts(&mut self.status_codes, next.status_codes);
        add_number(&mut self.ok, next.ok);
        add_counts(&mut self.failed, next.failed);
        add_histogram(&mut self.response, next.response);
        self.response_sum_ns += next.response_sum_ns;
        add_number(&mut self.saturated, next.saturated);
        add_histogram(&mut self.exchange, next.exchange);
        add_number(&mut self.exchange_sum_ns, next.exchange_sum_ns);
        add_histogram(&mut self.first_byte, next.first_byte);
    }
}
