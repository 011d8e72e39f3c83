//! Coefficients of each kind of approximation, and the kind of a network or a station.
//!
//! The coefficients belong to a constant, the variation of arrivals, the variation of services, the logarithm of the
//! ratio of service times, the share 1 − 1/m of servers, and stations behind others; see [`super::Traits`].

use crate::finite;
use crate::model::Discipline;
use crate::network::{Center, Network, Speed};

use super::Factors;

/// Networks of product form that are too large for an exact solution: Linearizer.
const PRODUCT_FORM: Factors = Factors {
    large: [0.2, 0.0, 0.0, 0.0, 0.0, 0.0],
    small: [0.2, 0.0, 0.0, 0.0, 0.0, 0.0],
};
/// First come, first served.
const TURN: Factors = Factors {
    large: [0.06, 0.63, 0.01, 0.22, 0.0, 0.0],
    small: [0.06, 0.42, 0.0, 0.0, 0.0, 0.07],
};
/// Shared servers, and last come, first served with interruption.
const SHARED: Factors = Factors {
    large: [1.19, 0.0, 0.0, 0.0, 0.35, 0.0],
    small: [0.06, 0.35, 0.3, 0.16, 0.0, 0.0],
};
/// Ranks without interruption.
const RANKED: Factors = Factors {
    large: [0.12, 0.32, 0.08, 0.12, 0.1, 0.0],
    small: [0.08, 0.14, 0.0, 0.15, 0.0, 0.0],
};
/// Ranks without interruption at several servers. Long constant times of a worse rank may use all servers at once, more
/// often than the formula assumes. Set by hand, to hold 160 simulated stations of 2 to 64 servers.
const RANKED_SERVERS: Factors = Factors {
    large: [0.12, 0.32, 0.08, 0.25, 0.1, 0.0],
    small: [0.08, 0.14, 0.0, 0.15, 0.6, 0.0],
};
/// Ranks with interruption.
const INTERRUPTING: Factors = Factors {
    large: [0.1, 0.48, 0.0, 0.83, 0.0, 0.0],
    small: [0.06, 0.13, 0.0, 0.09, 0.0, 0.0],
};
/// Full stations: Markov chains.
const FULL: Factors = Factors {
    large: [0.35, 0.04, 0.0, 0.0, 0.0, 0.0],
    small: [0.14, 0.01, 0.0, 0.03, 0.0, 0.0],
};
/// Losses of [`FULL`].
const FULL_LOSSES: Factors = Factors {
    large: [0.42, 0.0, 0.0, 0.03, 0.0, 0.0],
    small: [0.13, 0.0, 0.0, 0.24, 0.0, 0.0],
};
/// Full stations: Markov chains with far fewer phases than the variation needs.
const EXTRAPOLATED: Factors = Factors {
    large: [0.07, 0.83, 0.0, 0.0, 0.0, 0.0],
    small: [0.06, 0.17, 0.0, 1.43, 0.0, 0.0],
};
/// Losses of [`EXTRAPOLATED`].
const EXTRAPOLATED_LOSSES: Factors = Factors {
    large: [0.13, 2.59, 0.0, 0.0, 0.0, 0.0],
    small: [0.35, 0.0, 0.0, 0.0, 0.0, 0.0],
};
/// Full stations whose classes are merged.
const MERGED: Factors = Factors {
    large: [0.06, 0.29, 0.0, 0.0, 0.0, 0.0],
    small: [0.06, 0.12, 0.0, 0.0, 0.0, 0.0],
};
/// Losses of [`MERGED`].
const MERGED_LOSSES: Factors = Factors {
    large: [0.45, 0.17, 0.0, 0.34, 0.13, 0.0],
    small: [0.22, 0.09, 0.0, 0.0, 0.0, 0.0],
};
/// Several closed classes at one station, first come, first served.
const CLOSED: Factors = Factors {
    large: [0.09, 0.0, 0.36, 0.22, 0.0, 0.0],
    small: [0.32, 0.0, 0.0, 0.0, 0.0, 0.0],
};
/// Several closed classes at several stations.
const CLOSED_SEVERAL: Factors = Factors {
    large: [0.48, 0.0, 0.0, 0.52, 0.0, 0.0],
    small: [0.07, 0.0, 0.0, 0.0, 0.0, 0.0],
};
/// Stations of [`CLOSED_SEVERAL`].
const CLOSED_SEVERAL_STATIONS: Factors = Factors {
    large: [0.84, 0.0, 0.0, 0.3, 0.0, 0.0],
    small: [0.06, 0.0, 0.19, 0.17, 0.0, 0.0],
};
/// Open and closed classes at one station.
const MIXED: Factors = Factors {
    large: [0.08, 0.0, 0.67, 0.33, 0.0, 0.0],
    small: [0.06, 0.0, 0.06, 0.0, 0.0, 0.0],
};
/// Open and closed classes at several stations.
const MIXED_SEVERAL: Factors = Factors {
    large: [0.52, 0.0, 0.12, 0.76, 0.0, 0.0],
    small: [0.18, 0.0, 0.0, 0.0, 0.98, 0.0],
};
/// Stations of [`MIXED_SEVERAL`].
const MIXED_SEVERAL_STATIONS: Factors = Factors {
    large: [0.76, 0.0, 0.1, 0.7, 0.0, 0.0],
    small: [1.0, 0.0, 0.0, 0.07, 1.03, 0.0],
};
/// Phases of service at one station.
const PHASES: Factors = Factors {
    large: [0.08, 0.0, 0.0, 0.0, 0.0, 0.0],
    small: [0.08, 0.0, 0.0, 0.0, 0.0, 0.0],
};
/// Phases of service at several stations.
const PHASES_SEVERAL: Factors = Factors {
    large: [0.33, 0.0, 0.0, 0.0, 0.0, 0.0],
    small: [0.07, 0.0, 0.01, 0.0, 0.0, 0.0],
};
/// Stations of [`PHASES_SEVERAL`].
const PHASES_SEVERAL_STATIONS: Factors = Factors {
    large: [0.23, 0.0, 0.0, 0.0, 0.29, 0.0],
    small: [0.06, 0.0, 0.04, 0.0, 0.18, 0.0],
};
/// One class that stands for all closed classes.
const ONE_CLASS: Factors = Factors {
    large: [0.08, 0.0, 0.21, 0.0, 0.0, 0.0],
    small: [0.09, 0.0, 0.01, 0.0, 0.0, 0.0],
};
/// Stations of [`ONE_CLASS`].
const ONE_CLASS_STATIONS: Factors = Factors {
    large: [0.07, 0.0, 0.21, 0.0, 0.0, 0.0],
    small: [0.07, 0.0, 0.01, 0.0, 0.0, 0.0],
};
/// Forks of closed classes.
const FORKS_CLOSED: Factors = Factors {
    large: [1.25, 0.0, 0.0, 0.0, 0.0, 0.0],
    small: [0.09, 0.0, 0.1, 0.0, 0.0, 0.0],
};
/// Stations of [`FORKS_CLOSED`].
const FORKS_CLOSED_STATIONS: Factors = Factors {
    large: [0.06, 0.0, 0.15, 0.82, 0.23, 0.0],
    small: [0.52, 0.0, 0.0, 0.0, 3.35, 0.0],
};
/// Forks of open classes.
const FORKS_OPEN: Factors = Factors {
    large: [0.85, 0.0, 0.0, 0.0, 0.0, 0.0],
    small: [0.06, 0.25, 0.04, 0.0, 0.0, 0.0],
};
/// Stations of [`FORKS_OPEN`].
const FORKS_OPEN_STATIONS: Factors = Factors {
    large: [0.06, 1.32, 0.0, 0.0, 0.0, 0.0],
    small: [0.06, 0.29, 0.0, 0.0, 0.0, 0.0],
};
/// Forks of open and closed classes.
const FORKS_MIXED: Factors = Factors {
    large: [1.17, 0.0, 0.0, 0.23, 0.0, 0.0],
    small: [0.06, 0.0, 0.03, 0.16, 0.0, 0.0],
};
/// Stations of [`FORKS_MIXED`].
const FORKS_MIXED_STATIONS: Factors = Factors {
    large: [0.19, 0.0, 0.35, 0.5, 0.0, 0.0],
    small: [0.06, 0.0, 0.12, 0.0, 0.32, 0.0],
};
/// Stations of [`POOLS_BY_FLOW`].
const POOLS_BY_FLOW_STATIONS: Factors = Factors {
    large: [0.12, 0.0, 0.1, 0.0, 0.0, 0.0],
    small: [0.12, 0.0, 0.1, 0.0, 0.0, 0.0],
};
/// Pools of one class by flow-equivalent servers. These take the time inside as exponential, also if delays and shared
/// stations inside have other service times: M/G/1 shows the error of a pool of one unit. Set by hand.
const POOLS_BY_FLOW: Factors = Factors {
    large: [0.12, 0.0, 0.6, 0.0, 0.0, 0.0],
    small: [0.12, 0.0, 0.3, 0.0, 0.0, 0.0],
};
/// Pools of one closed class.
const POOLS_ONE_CLASS: Factors = Factors {
    large: [0.68, 0.0, 0.0, 0.0, 0.0, 0.0],
    small: [0.11, 0.0, 0.0, 0.0, 0.0, 0.0],
};
/// Stations of [`POOLS_ONE_CLASS`].
const POOLS_ONE_CLASS_STATIONS: Factors = Factors {
    large: [0.71, 0.0, 0.0, 0.0, 0.0, 0.0],
    small: [0.08, 0.0, 0.4, 0.0, 0.0, 0.0],
};
/// Pools of several closed classes.
const POOLS_CLOSED: Factors = Factors {
    large: [0.9, 0.0, 0.0, 0.0, 0.0, 0.0],
    small: [0.11, 0.0, 0.0, 0.0, 0.0, 0.0],
};
/// Stations of [`POOLS_CLOSED`].
const POOLS_CLOSED_STATIONS: Factors = Factors {
    large: [0.08, 0.0, 0.06, 0.49, 0.0, 0.0],
    small: [0.08, 0.0, 0.0, 0.0, 1.88, 0.0],
};
/// Pools of open and closed classes.
const POOLS_MIXED: Factors = Factors {
    large: [1.98, 0.0, 0.34, 1.78, 0.0, 0.0],
    small: [0.06, 0.0, 0.0, 0.0, 0.0, 0.0],
};
/// Stations of [`POOLS_MIXED`].
const POOLS_MIXED_STATIONS: Factors = Factors {
    large: [0.69, 0.0, 0.24, 0.69, 0.0, 0.0],
    small: [0.06, 0.0, 0.2, 0.0, 0.04, 0.0],
};
/// Pools of open classes. The coefficients of the variation of services were raised by hand for delays inside pools.
const POOLS_OPEN: Factors = Factors {
    large: [0.36, 1.21, 0.38, 0.0, 0.0, 0.0],
    small: [0.07, 0.29, 0.3, 0.0, 0.0, 0.0],
};
/// Stations of [`POOLS_OPEN`].
const POOLS_OPEN_STATIONS: Factors = Factors {
    large: [0.24, 1.04, 0.3, 0.0, 0.0, 0.0],
    small: [0.06, 0.25, 0.06, 0.0, 0.0, 0.0],
};
/// Waits for pools of [`POOLS_ONE_CLASS`].
const POOLS_ONE_CLASS_WAITS: Factors = Factors {
    large: [0.21, 0.0, 0.2, 0.0, 0.0, 0.0],
    small: [0.12, 0.0, 0.0, 0.0, 0.0, 0.0],
};
/// Waits for pools of [`POOLS_CLOSED`].
const POOLS_CLOSED_WAITS: Factors = Factors {
    large: [0.71, 0.0, 0.02, 0.0, 0.0, 0.0],
    small: [0.11, 0.0, 0.0, 0.0, 0.0, 0.0],
};
/// Waits for pools of [`POOLS_MIXED`].
const POOLS_MIXED_WAITS: Factors = Factors {
    large: [1.85, 0.0, 0.42, 2.1, 0.0, 0.0],
    small: [0.06, 0.0, 0.0, 0.0, 0.0, 0.0],
};
/// Waits for pools of [`POOLS_OPEN`].
const POOLS_OPEN_WAITS: Factors = Factors {
    large: [0.07, 0.0, 0.52, 0.0, 0.0, 0.0],
    small: [0.07, 1.58, 0.3, 0.0, 0.0, 0.0],
};
/// Ranks of closed classes.
const RANKS_CLOSED: Factors = Factors {
    large: [0.75, 0.0, 0.13, 1.35, 0.0, 0.0],
    small: [1.22, 0.0, 0.0, 0.0, 0.0, 0.0],
};
/// Ranks of open and closed classes.
const RANKS_MIXED: Factors = Factors {
    large: [1.35, 0.0, 0.0, 2.01, 0.0, 0.0],
    small: [1.22, 0.0, 0.27, 1.1, 0.0, 0.0],
};
/// Ranks of closed classes with interruption.
const INTERRUPTING_CLOSED: Factors = Factors {
    large: [1.98, 0.0, 0.0, 0.0, 0.13, 0.0],
    small: [0.06, 0.0, 0.19, 0.07, 0.0, 0.0],
};
/// Ranks of open and closed classes with interruption.
const INTERRUPTING_MIXED: Factors = Factors {
    large: [1.0, 0.0, 0.52, 0.0, 0.0, 0.0],
    small: [1.68, 0.0, 0.0, 0.46, 0.0, 0.0],
};

/// Returns the factors of response times, and of the times at stations, of a network with closed classes, pools or
/// forks; `None` if the network is solved station by station.
pub fn network(network: &Network, method: &str) -> Option<(Factors, Factors)> {
    let (closed, open) = (!network.closed().is_empty(), !network.open().is_empty());
    if !network.without_idle_pools().holds.is_empty() {
        return Some(pools(network, method, closed, open));
    }
    if !network.splits.is_empty() {
        return Some(match (closed, open) {
            (false, _) => (FORKS_OPEN, FORKS_OPEN_STATIONS),
            (true, false) => (FORKS_CLOSED, FORKS_CLOSED_STATIONS),
            (true, true) => (FORKS_MIXED, FORKS_MIXED_STATIONS),
        });
    }
    if !closed {
        return None;
    }
    if let Some(center) =
        (network.centers.iter()).find(|center| center.discipline == Discipline::Priority)
    {
        return Some(match (center.preemptive, open) {
            (false, false) => (RANKS_CLOSED, RANKS_CLOSED),
            (false, true) => (RANKS_MIXED, RANKS_MIXED),
            (true, false) => (INTERRUPTING_CLOSED, INTERRUPTING_CLOSED),
            (true, true) => (INTERRUPTING_MIXED, INTERRUPTING_MIXED),
        });
    }
    let several = network
        .centers
        .iter()
        .filter(|center| center.is_queue())
        .count()
        > 1;
    Some(match (open, several) {
        _ if network.is_product_form() => (PRODUCT_FORM, PRODUCT_FORM),
        _ if method.starts_with("phases") && several => (PHASES_SEVERAL, PHASES_SEVERAL_STATIONS),
        _ if method.starts_with("phases") => (PHASES, PHASES),
        _ if method.starts_with("one class") => (ONE_CLASS, ONE_CLASS_STATIONS),
        (false, false) => (CLOSED, CLOSED),
        (false, true) => (CLOSED_SEVERAL, CLOSED_SEVERAL_STATIONS),
        (true, false) => (MIXED, MIXED),
        (true, true) => (MIXED_SEVERAL, MIXED_SEVERAL_STATIONS),
    })
}

fn pools(network: &Network, method: &str, closed: bool, open: bool) -> (Factors, Factors) {
    match (network.loads.len(), closed, open) {
        _ if method.contains("flow-equivalent") => (POOLS_BY_FLOW, POOLS_BY_FLOW_STATIONS),
        (_, true, true) => (POOLS_MIXED, POOLS_MIXED_STATIONS),
        (1, true, false) => (POOLS_ONE_CLASS, POOLS_ONE_CLASS_STATIONS),
        (_, true, false) => (POOLS_CLOSED, POOLS_CLOSED_STATIONS),
        (_, false, _) => (POOLS_OPEN, POOLS_OPEN_STATIONS),
    }
}

/// Returns the factors of waits for pools.
pub fn pool_waits(network: &Network, method: &str) -> Factors {
    match (
        network.loads.len(),
        network.closed().is_empty(),
        network.open().is_empty(),
    ) {
        _ if method.contains("flow-equivalent") => POOLS_BY_FLOW,
        (_, false, false) => POOLS_MIXED_WAITS,
        (1, false, true) => POOLS_ONE_CLASS_WAITS,
        (_, false, true) => POOLS_CLOSED_WAITS,
        (_, true, _) => POOLS_OPEN_WAITS,
    }
}

/// Returns the coefficients for several visits to a station of the logarithms of both factors. They were set by hand, so
/// that the ranges hold the times and losses of simulated networks with 2 to 10 visits.
pub fn rows(network: &Network, center: &Center) -> [f64; 2] {
    let closed = !network.closed().is_empty() || !network.holds.is_empty();
    match center.discipline {
        _ if closed => [0.3, 0.6],
        _ if center.capacity.is_some() => [1.0, 0.3],
        Discipline::Priority if center.preemptive => [0.2, 0.3],
        Discipline::Priority => [0.6, 1.3],
        _ => [0.2, 0.1],
    }
}

/// Returns the factors of times and losses at a station of open classes.
pub fn station(center: &Center, method: &str) -> (Factors, Option<Factors>) {
    if center.capacity.is_some() {
        return if method.contains(finite::MERGED) {
            (MERGED, Some(MERGED_LOSSES))
        } else if method.contains(finite::EXTRAPOLATED) {
            (EXTRAPOLATED, Some(EXTRAPOLATED_LOSSES))
        } else {
            (FULL, Some(FULL_LOSSES))
        };
    }
    let waits = match center.discipline {
        Discipline::Priority if center.preemptive => INTERRUPTING,
        Discipline::Priority if center.speed.is_single() => RANKED,
        Discipline::Priority => RANKED_SERVERS,
        Discipline::Fcfs => TURN,
        _ => SHARED,
    };
    (waits, None)
}

/// Returns `true` if a station without a capacity limit is solved exactly for Poisson arrivals.
pub fn is_exact(center: &Center) -> bool {
    // A job that comes back finds the queue that it left behind, not the queue that a Poisson arrival finds.
    let once = center.is_visited_once();
    match center.discipline {
        Discipline::Fcfs => {
            let known = once || center.has_known_rows();
            known && center.speed.is_single() || center.is_product_form()
        }
        Discipline::Priority => {
            let servers = matches!(center.speed, Speed::Servers(_));
            once && (center.speed.is_single() || servers && center.is_uniform_exponential())
        }
        _ => center.is_product_form(),
    }
}
