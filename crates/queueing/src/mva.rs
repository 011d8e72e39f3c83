//! Exact mean value analysis over the lattice of populations, for single servers and delays.
//!
//! Reiser and Lavenberg, *Mean-value analysis of closed multichain queueing networks*, J. ACM 27(2), 1980:
//!
//! R_rk(n) = D_rk (1 + Q_k(n − e_r)), X_r(n) = n_r / (Z_r + Σ_k R_rk(n)), Q_k(n) = Σ_r X_r(n) R_rk(n).
//!
//! For the population n, R is the residence time, D the demand, Z the think time and X the throughput of class r at
//! station k. Q is the number of jobs, and e_r is one job of class r.
//!
//! All terms are positive, so that there is no cancellation. The lattice is processed in slabs, one for each number of
//! users of the largest class. Only two slabs are kept in memory, and their size depends on the other classes only.

/// Closed classes at single servers. Delays are part of the think time.
#[derive(Clone, Debug)]
pub struct Closed {
    /// Number of users of each class, at least 1. [1]
    pub users: Vec<u64>,
    /// Think time of each class plus the times of its visits to delays. [s]
    pub think_time: Vec<f64>,
    /// Demand of each class at each station. [s]
    pub demand: Vec<Vec<f64>>,
}

/// Mean values of the closed classes.
#[derive(Clone, Debug)]
pub struct Means {
    /// Throughput of each class. [1/s]
    pub throughput: Vec<f64>,
    /// Residence time of each class at each station. [s]
    pub residence: Vec<Vec<f64>>,
}

/// Number of stations that are computed together in one vector.
const LANES: usize = 4;
/// Values of `G` groups of [`LANES`] stations. The size is known at compile time, so that the values stay in registers.
type Row<const G: usize> = [[f64; LANES]; G];

/// Returns the number of populations in the lattice, from no users to all users of each class.
#[must_use]
pub fn lattice_points(users: &[u64]) -> f64 {
    users.iter().map(|&count| count as f64 + 1.0).product()
}

/// Solves the network exactly. The caller must check time and memory with [`lattice_points`].
#[must_use]
pub fn solve(closed: &Closed) -> Means {
    match closed.demand[0].len().div_ceil(LANES) {
        0 | 1 => walk::<1>(closed),
        2 => walk::<2>(closed),
        3 => walk::<3>(closed),
        _ => walk::<4>(closed),
    }
}

fn walk<const G: usize>(closed: &Closed) -> Means {
    let classes = closed.users.len();
    let rows = closed.demand[0].len().div_ceil(LANES * G).max(1);
    // The class with the most users is the outermost one, so that the slabs are small.
    let mut order: Vec<usize> = (0..classes).collect();
    order.sort_by_key(|&class| std::cmp::Reverse(closed.users[class]));
    let inner: Vec<usize> = order[1..]
        .iter()
        .map(|&class| closed.users[class] as usize + 1)
        .collect();
    let slab: usize = inner.iter().product();
    let mut strides = vec![0; classes];
    let mut stride = rows;
    for side in (1..classes).rev() {
        strides[side] = stride;
        stride *= inner[side - 1];
    }
    let mut walk = Walk {
        demand: order
            .iter()
            .map(|&class| in_rows::<G>(&closed.demand[class], rows))
            .collect(),
        think_time: order
            .iter()
            .map(|&class| closed.think_time[class])
            .collect(),
        users: order.iter().map(|&class| closed.users[class]).collect(),
        strides,
        rows,
        // 1 + Q for every population of a slab, where Q is the number of jobs at a station; an empty system has Q = 0.
        previous: vec![[[1.0; LANES]; G]; slab * rows],
        current: vec![[[1.0; LANES]; G]; slab * rows],
        throughput: vec![0.0; classes],
    };
    let mut population = vec![0_u64; classes];
    for outermost in 0..=walk.users[0] {
        std::mem::swap(&mut walk.previous, &mut walk.current);
        population[0] = outermost;
        walk.slab(&mut population);
    }
    walk.means(closed, &order)
}

fn in_rows<const G: usize>(values: &[f64], rows: usize) -> Vec<Row<G>> {
    let mut lanes = vec![[[0.0; LANES]; G]; rows];
    for (station, &value) in values.iter().enumerate() {
        lanes[station / (LANES * G)][station / LANES % G][station % LANES] = value;
    }
    lanes
}

/// State of the iteration over all populations. Lists by class begin with the class of the outermost loop.
struct Walk<const G: usize> {
    demand: Vec<Vec<Row<G>>>,
    think_time: Vec<f64>,
    users: Vec<u64>,
    strides: Vec<usize>,
    rows: usize,
    previous: Vec<Row<G>>,
    current: Vec<Row<G>>,
    throughput: Vec<f64>,
}

impl<const G: usize> Walk<G> {
    /// Processes all populations with the current number of users of the outermost class, in lexicographic order.
    fn slab(&mut self, population: &mut [u64]) {
        population[1..].fill(0);
        for start in (0..self.current.len()).step_by(self.rows) {
            self.point(start, population);
            for side in (1..population.len()).rev() {
                if population[side] < self.users[side] {
                    population[side] += 1;
                    break;
                }
                population[side] = 0;
            }
        }
    }

    /// Applies the recursion to one population, whose rows begin at `start`.
    fn point(&mut self, start: usize, population: &[u64]) {
        let (done, rest) = self.current.split_at_mut(start);
        let sums = &mut rest[..self.rows];
        sums.fill([[1.0; LANES]; G]);
        for (side, &jobs) in population.iter().enumerate() {
            if jobs == 0 {
                self.throughput[side] = 0.0;
                continue;
            }
            let demand = &self.demand[side];
            let less = match side {
                0 => &self.previous[start..start + self.rows],
                _ => &done[start - self.strides[side]..][..self.rows],
            };
            let think_time = self.think_time[side];
            // Shortcut for few stations, so that their residence times stay in registers.
            if let ([sum], [need], [queue]) = (&mut *sums, &demand[..], less) {
                let stay = residence(need, queue);
                let throughput = jobs as f64 / (think_time + total(&stay));
                add(sum, throughput, &stay);
                self.throughput[side] = throughput;
                continue;
            }
            let rows = demand.iter().zip(less);
            let response: f64 = rows
                .map(|(need, queue)| total(&residence(need, queue)))
                .sum();
            let throughput = jobs as f64 / (think_time + response);
            for ((sum, need), queue) in sums.iter_mut().zip(demand).zip(less) {
                add(sum, throughput, &residence(need, queue));
            }
            self.throughput[side] = throughput;
        }
    }

    /// Returns the mean values at the last population, that is, with all users.
    fn means(&self, closed: &Closed, order: &[usize]) -> Means {
        let start = self.current.len() - self.rows;
        let classes = order.len();
        let mut means = Means {
            throughput: vec![0.0; classes],
            residence: vec![Vec::new(); classes],
        };
        for (side, &class) in order.iter().enumerate() {
            let less = match side {
                0 => &self.previous[start..],
                _ => &self.current[start - self.strides[side]..],
            };
            let queue =
                |station: usize| less[station / (LANES * G)][station / LANES % G][station % LANES];
            means.throughput[class] = self.throughput[side];
            means.residence[class] = closed.demand[class]
                .iter()
                .enumerate()
                .map(|(station, need)| need * queue(station))
                .collect();
        }
        means
    }
}

/// Returns the residence times: demands times 1 + Q, where Q is the number of jobs that an arriving job finds.
fn residence<const G: usize>(need: &Row<G>, queue: &Row<G>) -> Row<G> {
    std::array::from_fn(|group| std::array::from_fn(|lane| need[group][lane] * queue[group][lane]))
}

/// Returns the sum of the values of all stations in a row.
fn total<const G: usize>(row: &Row<G>) -> f64 {
    let mut lanes = [0.0; LANES];
    for group in row {
        for (sum, value) in lanes.iter_mut().zip(group) {
            *sum += value;
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

/// Adds throughput times residence time, which is the number of jobs by Little's law.
fn add<const G: usize>(sum: &mut Row<G>, throughput: f64, stay: &Row<G>) {
    for (sums, times) in sum.iter_mut().zip(stay) {
        for (value, time) in sums.iter_mut().zip(times) {
            *value += throughput * time;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected throughputs X = (3/19, 2/19) come from Lazowska et al., *Quantitative System Performance*, p. 142.
    #[test]
    fn two_classes_of_one_user_each_have_rational_throughputs() {
        let closed = Closed {
            users: vec![1, 1],
            think_time: vec![0.0, 0.0],
            demand: vec![vec![1.0, 3.0], vec![2.0, 4.0]],
        };
        let means = solve(&closed);
        assert!((means.throughput[0] - 3.0 / 19.0).abs() < 1e-15);
        assert!((means.throughput[1] - 2.0 / 19.0).abs() < 1e-15);
        assert!((means.residence[1][1] - 7.0).abs() < 1e-13);
    }

    #[test]
    fn order_of_classes_does_not_matter() {
        let solved = |order: [usize; 3]| {
            let (users, think_time) = ([3, 9, 5], [1.0, 0.0, 7.0]);
            let demand = [
                vec![0.3, 0.1, 0.0, 0.2, 0.4],
                vec![0.1; 5],
                vec![0.0, 0.5, 0.2, 0.1, 0.1],
            ];
            let means = solve(&Closed {
                users: order.map(|class| users[class]).to_vec(),
                think_time: order.map(|class| think_time[class]).to_vec(),
                demand: order.map(|class| demand[class].clone()).to_vec(),
            });
            let mut throughput = [0.0; 3];
            order
                .iter()
                .zip(means.throughput)
                .for_each(|(&class, value)| throughput[class] = value);
            throughput
        };
        let (one, other) = (solved([0, 1, 2]), solved([2, 0, 1]));
        assert!(
            one.iter()
                .zip(other)
                .all(|(a, b)| (a - b).abs() < 1e-13 * a)
        );
    }
}
