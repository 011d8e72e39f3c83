//! Lists of CPUs in the form of the command line, such as `0,2-3`.

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// Reads a list of CPU numbers and ranges, such as `0,2-3`.
///
/// # Errors
///
/// A message with the expected form, if the text is not such a list.
pub fn parse(text: &str) -> Result<Vec<usize>, String> {
    let fault = || format!("must be CPU numbers and ranges like 0,2-3. Got {text:?} instead.");
    let number = |digits: &str| {
        digits
            .trim()
            .parse::<usize>()
            .ok()
            .filter(|cpu| *cpu < CpuSet::count())
    };
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => cpus.extend(first..=last),
            _ => return Err(fault()),
        }
    }
    Ok(cpus)
}

/// Restricts the calling thread, and the threads and processes that it starts later, to these CPUs.
///
/// # Errors
///
/// The reason, if the machine does not have the CPUs or does not permit their use.
pub fn pin(cpus: &[usize]) -> Result<(), String> {
    let pinned = || -> Result<(), Errno> {
        let mut set = CpuSet::new();
        for &cpu in cpus {
            set.set(cpu)?;
        }
        sched_setaffinity(Pid::from_raw(0), &set)
    };
    pinned().map_err(|errno| {
        format!(
            "must be CPUs that this process may use. Got {cpus:?} instead: {}.",
            errno.desc()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_are_read() {
        assert_eq!(parse("0"), Ok(vec![0]));
        assert_eq!(parse("1,4-6, 9"), Ok(vec![1, 4, 5, 6, 9]));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "a", "1,", "3-1", "-1", "1-2-3", "99999999"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused() {
        let fault = pin(&[CpuSet::count() - 1]).unwrap_err();
        assert!(fault.contains("may use"), "{fault}");
    }
}
