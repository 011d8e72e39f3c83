//! Positions of cumulative sums in the record of a replication. Each figure of each class, station and pool has its own
//! position.

use super::plan::Plan;

/// Positions of cumulative sums in the record of a replication.
#[derive(Clone, Copy)]
pub struct Layout {
    pub classes: usize,
    pub stations: usize,
    pub pools: usize,
}

/// Values that are summed for a class: numbers of events, and the response times.
#[derive(Clone, Copy)]
pub enum Count {
    Completed,
    ResponseTime,
    Dropped,
    Failed,
    TimedOut,
    Retried,
}

/// Events of a station that are counted.
#[derive(Clone, Copy)]
pub enum StationCount {
    Arrived,
    Served,
    Lost,
    Hit,
    WentDown,
}

impl Layout {
    const CLASS_COUNTS: usize = 6;
    const STATION_COUNTS: usize = 5;

    pub fn of(plan: &Plan) -> Self {
        Self {
            classes: plan.classes.len(),
            stations: plan.stations.len(),
            pools: plan.pools.len(),
        }
    }

    pub fn in_system(class: usize) -> usize {
        class
    }

    pub fn present(self, station: usize) -> usize {
        self.classes + station
    }

    pub fn busy(self, station: usize) -> usize {
        self.classes + self.stations + station
    }

    pub fn down(self, station: usize) -> usize {
        self.classes + 2 * self.stations + station
    }

    pub fn held(self, pool: usize) -> usize {
        self.classes + 3 * self.stations + pool
    }

    pub fn waiting(self, pool: usize) -> usize {
        self.classes + 3 * self.stations + self.pools + pool
    }

    pub fn levels(self) -> usize {
        self.classes + 3 * self.stations + 2 * self.pools
    }

    pub fn class(class: usize, count: Count) -> usize {
        class * Self::CLASS_COUNTS + count as usize
    }

    pub fn station(self, station: usize, count: StationCount) -> usize {
        self.classes * Self::CLASS_COUNTS + station * Self::STATION_COUNTS + count as usize
    }

    fn cells(self) -> usize {
        self.classes * Self::CLASS_COUNTS + self.stations * Self::STATION_COUNTS
    }

    /// Returns the position of the total time that jobs of a class spent at a station, in the record.
    pub fn sojourn(self, station: usize, class: usize) -> usize {
        self.cells() + 2 * (station * self.classes + class)
    }

    /// Returns the position of the total service time that jobs of a class received at a station, in the record.
    pub fn work(self, station: usize, class: usize) -> usize {
        self.sojourn(station, class) + 1
    }

    /// Returns the position of the total time that jobs of a class waited for a unit of a pool, in the record.
    pub fn pool_wait(self, pool: usize, class: usize) -> usize {
        self.cells() + (2 * self.stations + pool) * self.classes + class
    }

    pub fn counts(self) -> usize {
        self.pool_wait(self.pools, 0)
    }
}
