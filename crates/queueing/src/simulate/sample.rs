//! What one replication says, warm-up left out.

use super::estimate::mser5;
use super::layout::{Count, Layout};
use super::machine::Machine;
use super::plan::Plan;
use super::record::{BLOCK, Part, quantile};

/// Everything that one replication says, warm-up left out.
pub struct Sample {
    pub part: Part,
    pub layout: Layout,
    pub warm_up_share: f64,
    pub simulated_s: f64,
    pub events: u64,
    /// Number in system in the third and the fourth quarter.
    pub quarters: [f64; 2],
}

impl Sample {
    /// Looks at a replication that was stopped.
    pub fn of(machine: &mut Machine) -> Self {
        let layout = machine.layout;
        // The state of the system: who is where. The cut is the latest that any of its parts asks for.
        let parts = 0..layout.classes + layout.stations;
        let series: Vec<Vec<f64>> = parts.map(|index| machine.record.series(index)).collect();
        let cut = series.iter().map(|one| mser5(one)).max().unwrap_or(0);
        let blocks = cut
            .div_ceil(BLOCK)
            .min(machine.record.slices() / (2 * BLOCK));
        let total = |range: std::ops::Range<usize>| -> f64 {
            let length = range.len().max(1) as f64;
            // Jobs at stations, orphans among them; users of closed classes are a constant beside it.
            let sums = series
                .iter()
                .map(|one| one[range.clone()].iter().sum::<f64>());
            sums.sum::<f64>() / length
        };
        let slices = machine.record.slices();
        let quarters = [
            total(slices / 2..slices * 3 / 4),
            total(slices * 3 / 4..slices),
        ];
        let part = machine.record.since_block(blocks);
        Self {
            layout,
            warm_up_share: 1.0 - part.duration_s / machine.now,
            simulated_s: machine.now,
            events: machine.events,
            quarters,
            part,
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

    /// Throughput of a class. [1/s]
    pub fn throughput(&self, class: usize) -> f64 {
        self.rate(Layout::class(class, Count::Completed))
    }

    /// Mean response time of a class, not a number where nothing was completed. [s]
    pub fn response_time(&self, class: usize) -> f64 {
        self.total(Layout::class(class, Count::ResponseTime)) / self.completed(class)
    }

    /// Percentile of the response time of a class. [s]
    pub fn percentile(&self, class: usize, share: f64) -> f64 {
        quantile(&self.part.histograms[class], share).unwrap_or(f64::NAN)
    }

    /// Utilization of a station.
    pub fn utilization(&self, plan: &Plan, station: usize) -> f64 {
        let station_plan = &plan.stations[station];
        let full = if station_plan.rates.is_empty() {
            f64::from(station_plan.servers)
        } else {
            1.0
        };
        self.level(self.layout.busy(station)) / full
    }

    /// Jobs at a station.
    pub fn queue_length(&self, station: usize) -> f64 {
        self.level(self.layout.present(station))
    }
}
