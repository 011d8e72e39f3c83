//! Exact mean value analysis over the lattice of populations, for single servers and delays.
//!
//! Reiser and Lavenberg, *Mean-value analysis of closed multichain queueing networks*, J. ACM 27(2), 1980:
//!
//! R_rk(n) = D_rk (1 + Q_k(n − e_r)), X_r(n) = n_r / (Z_r + Σ_k R_rk(n)), Q_k(n) = Σ_r X_r(n) R_rk(n).
//!
//! All terms are positive, so that nothing cancels. The lattice is walked slab by slab along its longest side: only two
//! slabs are kept, and memory is that of the other classes alone.

/// Closed classes at single servers. Delays are part of the think time.
#[derive(Clone, Debug)]
pub struct Closed {
    /// Users of each class, at least 1. [1]
    pub users: Vec<u64>,
    /// Think time of each class with all its delays. [s]
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

/// Stations are handled in groups of this many, so that they are computed side by side.
const LANES: usize = 4;
type Lanes = [f64; LANES];

/// Number of populations in the lattice.
#[must_use]
pub fn lattice_points(users: &[u64]) -> f64 {
    users.iter().map(|&count| count as f64 + 1.0).product()
}

/// Solves exactly; time and memory are the caller's to judge by [`lattice_points`].
#[must_use]
pub fn solve(closed: &Closed) -> Means {
    let classes = closed.users.len();
    let stations = closed.demand[0].len();
    let groups = stations.div_ceil(LANES);
    let demand: Vec<Vec<Lanes>> = closed
        .demand
        .iter()
        .map(|row| in_lanes(row, groups))
        .collect();
    // The longest side outermost, so that the slabs are small.
    let mut order: Vec<usize> = (0..classes).collect();
    order.sort_by_key(|&class| std::cmp::Reverse(closed.users[class]));
    let inner: Vec<usize> = order[1..]
        .iter()
        .map(|&class| closed.users[class] as usize + 1)
        .collect();
    let slab: usize = inner.iter().product();
    let mut strides = vec![1; inner.len()];
    for side in (1..inner.len()).rev() {
        strides[side - 1] = strides[side] * inner[side];
    }
    let mut walk = Walk {
        closed,
        demand,
        order,
        strides,
        groups,
        // 1 + Q of every population of a slab; an empty system has Q = 0.
        previous: vec![[1.0; LANES]; slab * groups],
        current: vec![[1.0; LANES]; slab * groups],
        throughput: vec![0.0; classes],
    };
    let mut population = vec![0_u64; classes];
    for outermost in 0..=closed.users[walk.order[0]] {
        std::mem::swap(&mut walk.previous, &mut walk.current);
        population[0] = outermost;
        walk.slab(&mut population);
    }
    walk.means(stations)
}

fn in_lanes(row: &[f64], groups: usize) -> Vec<Lanes> {
    let mut lanes = vec![[0.0; LANES]; groups];
    for (station, &value) in row.iter().enumerate() {
        lanes[station / LANES][station % LANES] = value;
    }
    lanes
}

struct Walk<'a> {
    closed: &'a Closed,
    demand: Vec<Vec<Lanes>>,
    order: Vec<usize>,
    strides: Vec<usize>,
    groups: usize,
    previous: Vec<Lanes>,
    current: Vec<Lanes>,
    throughput: Vec<f64>,
}

impl Walk<'_> {
    /// All populations with the outermost class at its present number, in lexicographic order.
    fn slab(&mut self, population: &mut [u64]) {
        let points = self.current.len() / self.groups;
        population[1..].fill(0);
        for point in 0..points {
            self.point(point, population);
            for side in (1..population.len()).rev() {
                if population[side] < self.closed.users[self.order[side]] {
                    population[side] += 1;
                    break;
                }
                population[side] = 0;
            }
        }
    }

    /// Where 1 + Q of the population with one job less on a side begins.
    fn less(&self, side: usize, point: usize) -> &[Lanes] {
        let groups = self.groups;
        if side == 0 {
            &self.previous[point * groups..][..groups]
        } else {
            &self.current[(point - self.strides[side - 1]) * groups..][..groups]
        }
    }

    fn point(&mut self, point: usize, population: &[u64]) {
        const WIDE: usize = 16;
        let groups = self.groups;
        let mut small = [[1.0; LANES]; WIDE];
        let mut large = Vec::new();
        let sum: &mut [Lanes] = if groups <= WIDE {
            &mut small[..groups]
        } else {
            large.resize(groups, [1.0; LANES]);
            &mut large
        };
        for (side, &jobs) in population.iter().enumerate() {
            let class = self.order[side];
            if jobs == 0 {
                self.throughput[class] = 0.0;
                continue;
            }
            let demand = &self.demand[class];
            let less = self.less(side, point);
            let mut time = [0.0; LANES];
            for (need, queue) in demand.iter().zip(less) {
                for lane in 0..LANES {
                    time[lane] += need[lane] * queue[lane];
                }
            }
            let response = (time[0] + time[1]) + (time[2] + time[3]);
            let throughput = jobs as f64 / (self.closed.think_time[class] + response);
            for ((total, need), queue) in sum.iter_mut().zip(demand).zip(less) {
                for lane in 0..LANES {
                    total[lane] += throughput * need[lane] * queue[lane];
                }
            }
            self.throughput[class] = throughput;
        }
        self.current[point * groups..][..groups].copy_from_slice(sum);
    }

    /// Means at the last population walked.
    fn means(&self, stations: usize) -> Means {
        let last = self.current.len() / self.groups - 1;
        let mut residence = vec![Vec::new(); self.order.len()];
        for (side, &class) in self.order.iter().enumerate() {
            let less = self.less(side, last);
            residence[class] = (0..stations)
                .map(|station| {
                    self.closed.demand[class][station] * less[station / LANES][station % LANES]
                })
                .collect();
        }
        Means {
            throughput: self.throughput.clone(),
            residence,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lazowska et al., *Quantitative System Performance*, p. 142: X = (3/19, 2/19).
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
