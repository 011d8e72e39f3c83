//! Computes the mean number of jobs and the loss of each stream from the probabilities of the states.

use super::{Bounded, Found, Incoming, State};

impl Bounded<'_> {
    /// Returns the rate at which jobs of a stream arrive in a state. [1/s]
    fn rate(&self, stream: usize, state: &State) -> f64 {
        let incoming = &self.streams[stream];
        incoming.gaps.as_ref().map_or(incoming.rate, |gaps| {
            let phase = state[stream] as usize;
            incoming.rate * gaps.rates[phase] * (1.0 - gaps.goes_on[phase])
        })
    }

    /// Returns the mean number of jobs and the loss of each stream. `chances` are the probabilities of the states.
    pub(super) fn figures(&self, states: &[Vec<State>], chances: &[Vec<f64>]) -> Found {
        let number = self.streams.len();
        let (mut come, mut lost, mut ahead) =
            (vec![0.0; number], vec![0.0; number], vec![0.0; number]);
        let mut waiting = vec![0.0; self.queues];
        let mut inside = vec![0.0; self.kinds.len()];
        for (level, row) in chances.iter().enumerate() {
            for (state, chance) in states[level].iter().zip(row) {
                for stream in 0..number {
                    let rate = chance * self.rate(stream, state);
                    come[stream] += rate;
                    if level as u64 == self.capacity {
                        lost[stream] += rate;
                    } else {
                        ahead[stream] += rate * (level as f64 + 1.0 - self.servers as f64).max(0.0);
                    }
                }
                for (queue, sum) in waiting.iter_mut().enumerate() {
                    *sum += chance * f64::from(state[number + queue]);
                }
                for (kind, sum) in self.kinds.iter().zip(&mut inside) {
                    let count: u16 = state[kind.first..kind.first + kind.phases.count()]
                        .iter()
                        .sum();
                    *sum += chance * f64::from(count);
                }
            }
        }
        let shares: Vec<f64> = lost
            .iter()
            .zip(&come)
            .map(|(lost, come)| lost / come)
            .collect();
        let kept: Vec<f64> = (self.streams.iter().zip(&shares))
            .map(|(stream, loss)| stream.rate * (1.0 - loss))
            .collect();
        let split =
            |total: f64, weights: &[f64], alike: &dyn Fn(&Incoming) -> bool, stream: usize| {
                let sum: f64 = (0..number)
                    .filter(|&other| alike(&self.streams[other]))
                    .map(|other| weights[other])
                    .sum();
                if sum > 0.0 {
                    total * weights[stream] / sum
                } else {
                    0.0
                }
            };
        let jobs = (0..number)
            .map(|stream| {
                let Incoming { kind, queue, .. } = self.streams[stream];
                let served = split(inside[kind], &kept, &|other| other.kind == kind, stream);
                let waits = waiting.get(queue).map_or(0.0, |&total| {
                    split(total, &ahead, &|other| other.queue == queue, stream)
                });
                served + waits
            })
            .collect();
        Found { jobs, loss: shares }
    }
}
