//! Models in which nothing is random, so that their jobs keep the distances with which they begin.

use super::{Class, Model, Service, Variation, behaviour::Behaviour};

impl Model {
    /// Returns `true` if several jobs or streams of arrivals meet, and no time and no choice of the model is random.
    ///
    /// Two jobs that share a server then return to it at the same distance as before. Mean values depend on that
    /// distance for ever, and averages over all distances may differ from those of one run.
    #[must_use]
    pub fn is_deterministic(&self) -> bool {
        let streams = self.classes.iter().map(|class| class.users.unwrap_or(1));
        streams.fold(0, u64::saturating_add) > 1
            && self.classes.iter().all(Class::begins_at_equal_distances)
            && (self.stations.iter().flat_map(|station| &station.services))
                .all(Service::is_constant)
            && self.routing.is_empty()
            && self.behaviour == Behaviour::default()
    }
}

impl Class {
    fn begins_at_equal_distances(&self) -> bool {
        match self.users {
            Some(_) => self.think_time_s == 0.0 || is_constant(self.think),
            None => is_constant(self.arrivals),
        }
    }
}

impl Service {
    /// Returns `true` if all transactions make the same number of visits of the same length.
    fn is_constant(&self) -> bool {
        self.visits.unwrap_or(1.0).fract() == 0.0
            && (self.service_time_s == 0.0 || is_constant(self.variation))
    }
}

fn is_constant(times: Variation) -> bool {
    times.squared_coefficient() == 0.0
}
