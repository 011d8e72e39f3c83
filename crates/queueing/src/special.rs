//! Mathematical functions that several solvers use.

/// Returns the natural logarithms of 0!, 1!, ..., `last`!.
#[must_use]
pub fn log_factorials(last: usize) -> Vec<f64> {
    let mut logs = Vec::with_capacity(last + 1);
    // Kahan summation is used, since a plain sum of 20,000 logarithms has an error of about 1e-12, and the result is
    // exponentiated later.
    let (mut sum, mut compensation) = (0.0_f64, 0.0_f64);
    logs.push(0.0);
    for number in 1..=last {
        let term = (number as f64).ln() - compensation;
        let next = sum + term;
        compensation = (next - sum) - term;
        sum = next;
        logs.push(sum);
    }
    logs
}

/// Returns the probability that all servers of an M/M/m/m are busy, Erlang's B: 1/B = 1 + m/a + m (m − 1)/a² + ...
///
/// After a multiple of √m terms, further terms are negligible, so that a million servers cost little. If the terms
/// overflow, B is 0.
#[must_use]
pub fn erlang_b(servers: u32, load: f64) -> f64 {
    let (mut term, mut sum) = (1.0_f64, 1.0_f64);
    for busy in (1..=servers).rev() {
        term *= f64::from(busy) / load;
        sum += term;
        if sum == f64::INFINITY {
            return 0.0;
        }
        if f64::from(busy) < load && term < 1e-18 * sum {
            break;
        }
    }
    1.0 / sum
}

/// Returns the probability that an arriving job waits in an M/M/m with load a, Erlang's C. It follows from Erlang's B:
/// C = B / (1 − (a/m) (1 − B)).
#[must_use]
pub fn erlang_c(servers: u32, load: f64) -> f64 {
    let loss = erlang_b(servers, load);
    loss / (1.0 - load / f64::from(servers) * (1.0 - loss))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erlang_c_of_two_servers_is_rational() {
        // For two servers and the load a, C(2, a) = a² / (2 + a). At a utilization of 1/2, a = 1 and C = 1/3.
        assert!((erlang_c(2, 1.0) - 1.0 / 3.0).abs() < 1e-15);
        assert!((erlang_c(2, 1.8) - 3.24 / 3.8).abs() < 1e-15);
    }

    #[test]
    fn erlang_b_and_factorials_of_small_numbers() {
        // B(1, a) = a / (1 + a) and B(2, a) = a² / (2 + 2 a + a²).
        assert!((erlang_b(1, 0.5) - 1.0 / 3.0).abs() < 1e-15);
        assert!((erlang_b(2, 3.0) - 9.0 / 17.0).abs() < 1e-15);
        let logs = log_factorials(10);
        let exact = [
            1.0,
            1.0,
            2.0,
            6.0,
            24.0,
            120.0,
            720.0,
            5040.0,
            40320.0,
            362_880.0,
            3_628_800.0,
        ];
        assert_eq!(logs.len(), exact.len());
        for (log, factorial) in logs.iter().zip(exact) {
            assert!((log.exp() / factorial - 1.0).abs() < 1e-13);
        }
    }

    #[test]
    fn erlang_b_of_many_servers_does_not_overflow() {
        // By the square-root rule, B is about 1 / (1 + sqrt(pi m / 2)) for m = 10,000 servers and a load of 10,000.
        let loss = erlang_b(10_000, 10_000.0);
        assert!((loss * (std::f64::consts::PI * 5_000.0).sqrt() - 1.0).abs() < 0.02);
    }
}
