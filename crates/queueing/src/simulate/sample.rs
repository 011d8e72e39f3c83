//! Results of one replication after its warm-up.

use super::estimate::mser5;
use super::layout::{Count, Layout};
use super::length;
use super::machine::Machine;
use super::plan::Plan;
use super::record::{BLOCK, Part};

/// Returns time series with one value per slice: first the mean number of jobs of each class in the system, then the
/// mean number of jobs at each station.
fn state(machine: &Machine) -> Vec<Vec<f64>> {
    let levels = 0..machine.layout.classes + machine.layout.stations;
    levels.map(|index| machine.record.series(index)).collect()
}

/// Returns the warm-up of a replication: the longest MSER-5 warm-up over the numbers of jobs of all classes and
/// stations. [s]
fn warm_up_s(machine: &Machine) -> f64 {
    let cut = state(machine).iter().map(|series| mser5(series)).max();
    cut.unwrap_or(0) as f64 * machine.record.slice_s()
}

/// Returns the number of blocks of slices to remove at the start of a replication, at most half of all its blocks.
fn cut_blocks(machine: &Machine, cut_s: f64) -> usize {
    let block_s = BLOCK as f64 * machine.record.slice_s();
    ((cut_s / block_s).ceil() as usize).min(machine.record.slices() / (2 * BLOCK))
}

/// Returns the mean number of jobs in the system in the third and in the fourth quarter of the run.
fn quarters(machine: &Machine) -> [f64; 2] {
    let (mut state, slices) = (state(machine), machine.record.slices());
    if (machine.plan.classes.iter()).any(|class| !class.after.is_empty()) {
        // Jobs after their response that wait for a pool are neither in the system nor at a station.
        let pools = 0..machine.layout.pools;
        state.extend(pools.map(|pool| machine.record.series(machine.layout.waiting(pool))));
    }
    [slices / 2..slices * 3 / 4, slices * 3 / 4..slices].map(|range| {
        let length = range.len().max(1) as f64;
        let sums = state
            .iter()
            .map(|series| series[range.clone()].iter().sum::<f64>());
        sums.sum::<f64>() / length
    })
}

/// Results of one replication after its warm-up.
pub struct Sample {
    pub part: Part,
    pub layout: Layout,
    pub warm_up_share: f64,
    pub simulated_s: f64,
    /// Relaxation time of the network, the same for all replications. [s]
    pub relaxation_s: f64,
    pub events: u64,
    /// Mean number of jobs in the system in the third and in the fourth quarter of the run.
    pub quarters: [f64; 2],
    /// Equal parts of the replication that are long enough to be independent, without histograms; empty for a short
    /// replication.
    pub batches: Vec<Sample>,
}

impl Sample {
    /// Returns the results of all replications of a model.
    ///
    /// All replications have the same warm-up: the median of their MSER-5 warm-ups, and at least some relaxation times
    /// of the network. Separate warm-ups would remove busy periods at the start and keep idle periods. Mean queue
    /// lengths would then be too low.
    pub fn all(machines: &mut [Machine]) -> Vec<Self> {
        let mut proposals: Vec<f64> = machines.iter().map(warm_up_s).collect();
        proposals.sort_by(f64::total_cmp);
        let relaxation_s = length::relaxation_s(machines);
        let cut_s = proposals[proposals.len() / 2].max(length::warm_up_s(relaxation_s));
        let mut samples: Vec<Self> = (machines.iter_mut())
            .map(|machine| Self::of(machine, cut_s, relaxation_s))
            .collect();
        let lengths = samples.iter().map(|sample| sample.part.duration_s);
        let least_s = lengths.fold(f64::INFINITY, f64::min);
        let count = length::batches(least_s, relaxation_s, samples.len());
        for (sample, machine) in samples.iter_mut().zip(machines) {
            let parts = machine.record.batches(cut_blocks(machine, cut_s), count);
            sample.batches = parts.into_iter().map(|part| sample.batch(part)).collect();
        }
        samples
    }

    fn of(machine: &mut Machine, cut_s: f64, relaxation_s: f64) -> Self {
        let part = machine.record.since_block(cut_blocks(machine, cut_s));
        Self {
            layout: machine.layout,
            warm_up_share: 1.0 - part.duration_s / machine.now,
            simulated_s: machine.now,
            relaxation_s,
            events: machine.events,
            quarters: quarters(machine),
            part,
            batches: Vec::new(),
        }
    }

    fn batch(&self, part: Part) -> Self {
        Self {
            part,
            batches: Vec::new(),
            ..*self
        }
    }

    pub fn level(&self, index: usize) -> f64 {
        self.part.sums[index] / self.part.duration_s
    }

    pub fn total(&self, index: usize) -> f64 {
        self.part.sums[self.layout.levels() + index]
    }

    pub fn rate(&self, index: usize) -> f64 {
        self.total(index) / self.part.duration_s
    }

    pub fn ratio(&self, index: usize, to: f64) -> f64 {
        if to == 0.0 {
            0.0
        } else {
            self.total(index) / to
        }
    }

    pub fn completed(&self, class: usize) -> f64 {
        self.total(Layout::class(class, Count::Completed))
    }

    /// Returns the throughput of a class. [1/s]
    pub fn throughput(&self, class: usize) -> f64 {
        self.rate(Layout::class(class, Count::Completed))
    }

    /// Returns the mean response time of a class; NaN if no transaction was completed. [s]
    pub fn response_time(&self, class: usize) -> f64 {
        self.total(Layout::class(class, Count::ResponseTime)) / self.completed(class)
    }

    /// Returns the utilization of a station.
    pub fn utilization(&self, plan: &Plan, station: usize) -> f64 {
        utilization(plan, station, self.level(self.layout.busy(station)))
    }

    /// Returns `true` if the measured part is long enough, compared with the relaxation time.
    pub fn is_long_enough(&self) -> bool {
        length::is_enough(self.part.duration_s, self.relaxation_s)
    }

    /// Returns the mean number of jobs at a station.
    pub fn queue_length(&self, station: usize) -> f64 {
        self.level(self.layout.present(station))
    }
}

/// Returns the utilization of a station, from the mean number of busy servers or the mean share of the highest speed.
pub fn utilization(plan: &Plan, station: usize, busy: f64) -> f64 {
    let station_plan = &plan.stations[station];
    if station_plan.rates.is_empty() {
        busy / f64::from(station_plan.servers)
    } else {
        busy
    }
}
