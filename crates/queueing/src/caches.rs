//! Replaces caches in front of stations for the solvers: a hit becomes a visit to a separate delay, a miss a visit to
//! the station.
//!
//! A class with V visits and hit ratio h makes V (1 - h) visits to the station and V h to the delay. If the model
//! states h, hits are independent of each other, so that product form is preserved. If it states the number of entries,
//! h is computed by Che's approximation (`towtank_caches::popularity`), and the answer is approximate.

use towtank_caches::popularity::Popularity;

use crate::answer::{Answer, Named, StationAnswer};
use crate::model::behaviour::Cache;
use crate::model::{Branching, Discipline, Fault, Model, Service, Station, Variation};
use crate::network::Network;
use crate::stated::Ends;

/// A model in which each cache is replaced by a delay that serves the hits.
pub(crate) struct Parted {
    /// The resulting model, which has no caches.
    pub model: Model,
    parts: Vec<Part>,
}

/// A cache that was replaced by a delay.
struct Part {
    station: String,
    /// Name of the delay. No station in a model file can have this name.
    delay: String,
    hit_ratio: f64,
    /// Numbers of cache entries and of keys if the hit ratio was estimated from them.
    estimated: Option<(u64, u64)>,
}

impl Parted {
    /// Splits every station with a cache into the station and a delay. The model must have no faults.
    ///
    /// # Errors
    ///
    /// If a station with a cache has a capacity.
    pub fn of(model: &Model) -> Result<Self, Vec<Fault>> {
        let faults: Vec<Fault> = model
            .behaviour
            .caches
            .iter()
            .filter(|cache| {
                let station = model.stations.iter().find(|candidate| candidate.name == cache.station);
                station.is_some_and(|found| found.capacity.is_some())
            })
            .map(|cache| {
                let message = "must be left out for solving: a full station with a 'capacity' drops jobs, but not if they hit the cache; simulate the model instead";
                Fault::new(&["stations", &cache.station, "cache"], message)
            })
            .collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut parted = Self {
            model: model.clone(),
            parts: model.behaviour.caches.iter().map(Part::of).collect(),
        };
        parted.model.behaviour.caches.clear();
        // Balancers are removed, since their lists lack the new delays. The numbers of visits already include the
        // choices of random balancers.
        parted.model.behaviour.balancers.clear();
        for (part, cache) in parted.parts.iter().zip(&model.behaviour.caches) {
            part.apply(&mut parted.model, cache.hit_time_s);
        }
        Ok(parted)
    }

    /// Converts the model to numbers. Hits between two visits to a station shorten its rows of visits.
    ///
    /// # Errors
    ///
    /// All faults of the model.
    pub fn network(&self) -> Result<Network, Vec<Fault>> {
        let mut network = Network::of_visits(&self.model)?;
        for part in &self.parts {
            let center = (network.centers.iter_mut()).find(|center| center.name == part.station);
            if let (Some(center), false) = (center, network.routed) {
                for class in 0..center.visits.len() {
                    center.miss(class, part.hit_ratio);
                }
            }
        }
        Ok(network.with_rows())
    }

    /// Adds the cache hits (the results of the delays) in an answer to the results of the stations behind the caches.
    pub fn join(&self, mut answer: Answer) -> Answer {
        for part in &self.parts {
            let stations = &mut answer.stations.0;
            let Some(place) = stations.iter().position(|(name, _)| *name == part.delay) else {
                continue;
            };
            let (_, hits) = stations.remove(place);
            let station = stations.iter_mut().find(|(name, _)| *name == part.station);
            if let Some((_, station)) = station {
                add(station, &hits);
                station.hit_ratio = part.hit_ratio;
            }
            if let Some(within) = &mut answer.within {
                part.join_ranges(&mut within.stations);
            }
        }
        let warnings: Vec<String> = self.parts.iter().filter_map(Part::warning).collect();
        if !warnings.is_empty() {
            answer.exact = false;
            answer.method.push_str(", hit ratios estimated");
        }
        answer.warnings.splice(0..0, warnings);
        answer
    }

    /// Returns a fault if the model states the size of a cache instead of its hit ratio. The answer is then not exact.
    pub fn estimated(&self) -> Option<Fault> {
        let part = self.parts.iter().find(|part| part.estimated.is_some())?;
        let message = "must have a 'hit_ratio' for an exact answer, got 'items' and 'keys', from which it is estimated";
        Some(Fault::new(&["stations", &part.station, "cache"], message))
    }
}

/// Adds the cache hits (the results of a delay) to the results of the station behind the cache.
fn add(station: &mut StationAnswer, hits: &StationAnswer) {
    station.queue_length += hits.queue_length;
    station.throughput_per_s += hits.throughput_per_s;
    for (class, time) in &hits.residence_time_s.0 {
        let own = station
            .residence_time_s
            .0
            .iter_mut()
            .find(|(name, _)| name == class);
        match own {
            Some((_, stay)) => *stay += time,
            None => station.residence_time_s.0.push((class.clone(), *time)),
        }
    }
}

impl Part {
    fn of(cache: &Cache) -> Self {
        let estimated = cache.items.zip(cache.keys);
        let hit_ratio = match (cache.hit_ratio, estimated) {
            (None, Some((items, keys))) => Popularity::zipf(keys, cache.skew).hit_ratio(items),
            (given, _) => given.unwrap_or(0.0),
        };
        Self {
            station: cache.station.clone(),
            delay: format!("{}\0hits", cache.station),
            hit_ratio,
            estimated,
        }
    }

    /// Adds the ranges of the delay to those of the station behind the cache. The delay has neither utilization nor loss.
    fn join_ranges(&self, stations: &mut Named<Named<Ends>>) {
        let Some(place) = stations.0.iter().position(|(name, _)| *name == self.delay) else {
            return;
        };
        let (_, hits) = stations.0.remove(place);
        let Some((_, ranges)) = stations
            .0
            .iter_mut()
            .find(|(name, _)| *name == self.station)
        else {
            return;
        };
        for (quantity, [low, high]) in hits.0 {
            match ranges.0.iter_mut().find(|(name, _)| *name == quantity) {
                Some((_, ends)) => *ends = [ends[0] + low, ends[1] + high],
                None => ranges.0.push((quantity, [low, high])),
            }
        }
    }

    fn warning(&self) -> Option<String> {
        let (items, keys) = self.estimated?;
        Some(format!(
            "the cache of {items} of {keys} keys at station {:?} has a hit ratio of {:.4} by Che's approximation: the answer is approximate",
            self.station, self.hit_ratio
        ))
    }

    /// Adds the delay that serves the hits to all pools, forks and routes that contain the station behind the cache.
    fn apply(&self, model: &mut Model, hit_time_s: f64) {
        self.add_station(model, hit_time_s);
        let behind = |names: &mut Vec<String>| {
            if let Some(place) = names.iter().position(|name| *name == self.station) {
                names.insert(place + 1, self.delay.clone());
            }
        };
        for pool in &mut model.pools {
            behind(&mut pool.holds);
        }
        for branch in model.forks.iter_mut().flat_map(|fork| &mut fork.branches) {
            behind(branch);
        }
        for route in &mut model.routing {
            self.part(&mut route.start);
            route.next.values_mut().for_each(|next| self.part(next));
            if let Some(next) = route.next.get(&self.station).cloned() {
                route.next.insert(self.delay.clone(), next);
            }
        }
    }

    fn add_station(&self, model: &mut Model, hit_time_s: f64) {
        let Some(place) = model
            .stations
            .iter()
            .position(|candidate| candidate.name == self.station)
        else {
            return;
        };
        let routed: Vec<String> = model
            .routing
            .iter()
            .map(|route| route.class.clone())
            .collect();
        let station = &mut model.stations[place];
        let mut services = Vec::new();
        for service in &mut station.services {
            // If a class has a route, its visits follow from the route, so only classes without a route are changed
            // here.
            let visits = (!routed.contains(&service.class)).then(|| service.visits.unwrap_or(1.0));
            service.visits = visits.map(|count| count * (1.0 - self.hit_ratio));
            services.push(Service {
                class: service.class.clone(),
                visits: visits.map(|count| count * self.hit_ratio),
                service_time_s: hit_time_s,
                variation: Variation::default(),
                priority: None,
            });
        }
        let delay = Station {
            name: self.delay.clone(),
            discipline: Discipline::Delay,
            servers: 1,
            services,
            ..Station::default()
        };
        model.stations.insert(place + 1, delay);
    }

    /// Divides the probability of a transition to the station into misses, which go to the station, and hits, which go
    /// to the delay.
    fn part(&self, next: &mut Branching) {
        if let Some(share) = next.get(&self.station).copied() {
            next.insert(self.station.clone(), share * (1.0 - self.hit_ratio));
            next.insert(self.delay.clone(), share * self.hit_ratio);
        }
    }
}
