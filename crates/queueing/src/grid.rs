//! Power series with one variable per closed class, truncated at the number of users of each class. The convolution
//! algorithm multiplies such series.

use crate::series::Series;

/// Values below this share of the largest value are set to zero. They are too small to change a sum in double
/// precision.
const NEGLIGIBLE: f64 = 1e-280;

/// A series, stored as a list with one value for each population from zero to all users. The number of users of the
/// last class varies fastest. Each value is to be multiplied by exp(`log`).
#[derive(Clone, Debug)]
pub struct Grid {
    sides: Vec<usize>,
    strides: Vec<usize>,
    /// Coefficients in lexicographic order of the populations, divided by the common factor.
    pub values: Vec<f64>,
    /// Logarithm of the common factor of all values.
    pub log: f64,
}

/// The series of a station in scaled variables, y = `unit` · Σ_r `weights`_r z_r, where z_r is the variable of class r.
pub struct Scaled {
    weights: Vec<f64>,
    finite: Vec<f64>,
    tail: Vec<f64>,
    /// Derivatives of `finite` and `tail` with respect to y, times `unit`.
    finite_slope: Vec<f64>,
    tail_slope: Vec<f64>,
    pole: f64,
    /// Logarithm of the factor by which `finite` and `tail` were divided.
    log: f64,
}

impl Scaled {
    /// Scales a series to the loads at the station (demand times throughput, by class).
    #[must_use]
    pub fn new(series: &Series, loads: &[f64]) -> Self {
        let unit: f64 = loads.iter().sum();
        let power = |logs: &[f64]| -> Vec<f64> {
            logs.iter()
                .enumerate()
                .map(|(j, log)| log + j as f64 * unit.ln())
                .collect()
        };
        let (finite, tail) = (power(&series.finite), power(&series.tail));
        let log = finite
            .iter()
            .chain(&tail)
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        let plain =
            |logs: Vec<f64>| -> Vec<f64> { logs.iter().map(|value| (value - log).exp()).collect() };
        let (finite, tail) = (plain(finite), plain(tail));
        Self {
            weights: loads.iter().map(|load| load / unit).collect(),
            finite_slope: slope(&finite),
            tail_slope: slope(&tail),
            finite,
            tail,
            pole: series.pole * unit,
            log,
        }
    }

    /// Returns the limit of the ratio of successive terms of the series: its constant a, times `unit`.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.pole
    }

    /// Returns `true` if the series is 1 / (1 − a y), which means a single server.
    #[must_use]
    pub fn is_geometric(&self) -> bool {
        self.finite.is_empty() && self.tail.len() == 1
    }
}

fn slope(coefficients: &[f64]) -> Vec<f64> {
    coefficients
        .iter()
        .enumerate()
        .skip(1)
        .map(|(j, value)| j as f64 * value)
        .collect()
}

impl Grid {
    /// Returns the series of all delays: Π_r (load_r z_r)^n_r / n_r!, where the load is think time times throughput.
    #[must_use]
    pub fn of_delays(users: &[u64], loads: &[f64]) -> Self {
        let sides: Vec<usize> = users.iter().map(|&count| count as usize + 1).collect();
        let mut strides = vec![1; sides.len()];
        for side in (1..sides.len()).rev() {
            strides[side - 1] = strides[side] * sides[side];
        }
        let mut values = vec![1.0];
        let mut log = 0.0;
        for (&side, &load) in sides.iter().zip(loads) {
            let factorials = crate::special::log_factorials(side);
            let term = |jobs: usize| {
                if jobs == 0 {
                    0.0
                } else {
                    jobs as f64 * load.ln() - factorials[jobs]
                }
            };
            let largest = (0..side).map(term).fold(f64::NEG_INFINITY, f64::max);
            let row: Vec<f64> = (0..side).map(|jobs| (term(jobs) - largest).exp()).collect();
            values = values
                .iter()
                .flat_map(|value| row.iter().map(move |other| value * other))
                .collect();
            log += largest;
        }
        let mut grid = Self {
            sides,
            strides,
            values,
            log,
        };
        grid.normalize();
        grid
    }

    /// Returns the constant series 1, truncated at the same populations as this series.
    #[must_use]
    pub fn one(&self) -> Self {
        let mut series = Self {
            values: vec![0.0; self.values.len()],
            log: 0.0,
            ..self.clone()
        };
        series.values[0] = 1.0;
        series
    }

    /// Returns the value of the series at the full population.
    #[must_use]
    pub fn last(&self) -> f64 {
        self.values[self.values.len() - 1]
    }

    /// Returns the value of the series at the full population minus one job of a class.
    #[must_use]
    pub fn last_but(&self, class: usize) -> f64 {
        self.values[self.values.len() - 1 - self.strides[class]]
    }

    fn normalize(&mut self) {
        let largest = self.values.iter().copied().fold(0.0, f64::max);
        if !(largest > 0.0 && largest.is_finite()) {
            return;
        }
        for value in &mut self.values {
            *value /= largest;
            if *value < NEGLIGIBLE {
                *value = 0.0;
            }
        }
        self.log += largest.ln();
    }

    /// Returns the product of this series and a station's series.
    #[must_use]
    pub fn times(&self, station: &Scaled) -> Self {
        let mut product = self.polynomial(&station.tail, station);
        product.divide(station);
        if !station.finite.is_empty() {
            product.add(&self.polynomial(&station.finite, station), 1.0);
        }
        product.log += station.log;
        product.normalize();
        product
    }

    /// Returns the products of this series with a station's series F and with unit · F'(y), both scaled by the same
    /// factor.
    #[must_use]
    pub fn times_with_slope(&self, station: &Scaled) -> (Self, Self) {
        let mut value = self.polynomial(&station.tail, station);
        value.divide(station);
        let mut slope = self.polynomial(&station.tail_slope, station);
        slope.add(&value, station.pole);
        slope.divide(station);
        if !station.finite.is_empty() {
            value.add(&self.polynomial(&station.finite, station), 1.0);
            slope.add(&self.polynomial(&station.finite_slope, station), 1.0);
        }
        (value, slope)
    }

    /// Returns this series with a single server's series F replaced by unit · F'(y). This series must already contain
    /// F.
    #[must_use]
    pub fn slope_of_geometric(&self, station: &Scaled) -> Self {
        let mut slope = self.clone();
        for value in &mut slope.values {
            *value *= station.pole;
        }
        slope.divide(station);
        slope
    }

    fn add(&mut self, other: &Self, factor: f64) {
        for (value, more) in self.values.iter_mut().zip(&other.values) {
            *value += factor * more;
        }
    }

    /// Returns the product of this series and a polynomial in y / unit, by Horner's rule.
    fn polynomial(&self, coefficients: &[f64], station: &Scaled) -> Self {
        let users: usize = self.sides.iter().map(|side| side - 1).sum();
        let used = &coefficients[..coefficients.len().min(users + 1)];
        if self.sides.len() == 1 {
            return self.direct(used);
        }
        let mut product = Self {
            values: vec![0.0; self.values.len()],
            ..self.clone()
        };
        for &coefficient in used.iter().rev() {
            product.shift(station);
            product.add(self, coefficient);
        }
        product
    }

    /// For a single class, the product with a polynomial is an ordinary convolution, computed four terms at a time.
    fn direct(&self, coefficients: &[f64]) -> Self {
        let length = self.values.len();
        let mut padded = vec![0.0; length + coefficients.len() + 4];
        let start = coefficients.len() + 4;
        padded[start..].copy_from_slice(&self.values);
        let mut product = vec![0.0; length];
        for (block, four) in coefficients.chunks(4).enumerate() {
            let of = |j: usize| four.get(j).copied().unwrap_or(0.0);
            let (c0, c1, c2, c3) = (of(0), of(1), of(2), of(3));
            let from = start - 4 * block - 3;
            let source = &padded[from..from + length + 3];
            for (value, window) in product.iter_mut().zip(source.windows(4)) {
                *value += (c0 * window[3] + c1 * window[2]) + (c2 * window[1] + c3 * window[0]);
            }
        }
        Self {
            values: product,
            ..self.clone_shape()
        }
    }

    fn clone_shape(&self) -> Self {
        Self {
            sides: self.sides.clone(),
            strides: self.strides.clone(),
            values: Vec::new(),
            log: self.log,
        }
    }

    /// Multiplies the series by y / unit in place. The loop runs backwards, since each new value depends on old values
    /// before it.
    fn shift(&mut self, station: &Scaled) {
        self.walk(
            |values, index, sources| {
                values[index] = sources
                    .iter()
                    .map(|&(stride, weight)| weight * values[index - stride])
                    .sum();
            },
            station,
            1.0,
            true,
        );
    }

    /// Divides the series by 1 − a y in place. The loop runs forwards, since each new value depends on new values
    /// before it.
    fn divide(&mut self, station: &Scaled) {
        if station.pole == 0.0 {
            return;
        }
        if self.sides.len() == 1 {
            let mut before = 0.0;
            for value in &mut self.values {
                *value += station.pole * before;
                before = *value;
            }
            return;
        }
        self.walk(
            |values, index, sources| {
                values[index] += sources
                    .iter()
                    .map(|&(stride, weight)| weight * values[index - stride])
                    .sum::<f64>();
            },
            station,
            station.pole,
            false,
        );
    }

    /// Calls `visit` for every population. For each class, `visit` gets its weight and the index distance to the
    /// population with one job less of the class.
    fn walk(
        &mut self,
        mut visit: impl FnMut(&mut [f64], usize, &[(usize, f64)]),
        station: &Scaled,
        factor: f64,
        backwards: bool,
    ) {
        let row = self.sides[self.sides.len() - 1];
        let rows = self.values.len() / row;
        let last = self.sides.len() - 1;
        let mut sources = Vec::with_capacity(last + 1);
        for step in 0..rows {
            let number = if backwards { rows - 1 - step } else { step };
            sources.clear();
            for class in 0..last {
                let jobs = number * row / self.strides[class] % self.sides[class];
                if jobs > 0 && station.weights[class] > 0.0 {
                    sources.push((self.strides[class], factor * station.weights[class]));
                }
            }
            let first = number * row;
            let outer = sources.len();
            sources.push((1, factor * station.weights[last]));
            if backwards {
                for index in (first + 1..first + row).rev() {
                    visit(&mut self.values, index, &sources);
                }
                visit(&mut self.values, first, &sources[..outer]);
            } else {
                visit(&mut self.values, first, &sources[..outer]);
                for index in first + 1..first + row {
                    visit(&mut self.values, index, &sources);
                }
            }
        }
    }
}
