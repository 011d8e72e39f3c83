//! `towtank-engine caches [FILE] [options]`: computes the miss ratios of a trace for caches of all sizes.
//!
//! The trace is CSV, from the file or from standard input. The output is JSON: `{"answer": {...}}`, or `{"faults":
//! [...], "more": 0}` with exit status 2.
//!
//! With `--zipf KEYS:SKEW` no trace is read, and references are independent and follow Zipf's law. The output is then
//! the hit ratio for each cache size of `--entries`.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::process::ExitCode;

use serde_json::{Value, json};
use towtank_caches::analysis::{Settings, analyse};
use towtank_caches::popularity::Popularity;
use towtank_caches::sampling::Sampling;

/// Exit status of the program if the trace or the command line is invalid.
const WRONG: u8 = 2;
const USAGE: &str = "usage: towtank-engine caches [FILE] [--entries N,N,...] [--bytes N,N,...] [--metadata-bytes N] \
[--shards RATE] [--samples N] [--warm-up N] [--memory BYTES] | caches --zipf KEYS:SKEW --entries N,N,...";
/// Largest number of pairs of an entry limit (`--entries`) and a byte limit (`--bytes`). Each pair costs time at every
/// reference of the trace.
const LIMITS_AT_MOST: usize = 10_000;
/// Largest number of keys for Zipf's law: `f64` represents all integers up to this value exactly.
const KEYS_AT_MOST: u64 = 1 << 53;
/// Memory for the computation of exact stack distances if the system does not report its free memory. [B]
const MEMORY_UNKNOWN: usize = 1 << 30;

#[derive(Default)]
struct Arguments {
    settings: Settings,
    rate: Option<f64>,
    samples: Option<usize>,
    zipf: Option<(u64, f64)>,
    path: Option<String>,
}

/// Runs the subcommand `caches` with these arguments and returns the exit status.
pub fn run(arguments: &[String]) -> ExitCode {
    match parse(arguments).and_then(|parsed| answer(&parsed)) {
        Ok((document, right)) => {
            println!("{document}");
            ExitCode::from(if right { 0 } else { WRONG })
        }
        Err(message) => {
            eprintln!("towtank-engine caches: {message}\n{USAGE}");
            ExitCode::from(WRONG)
        }
    }
}

fn answer(arguments: &Arguments) -> Result<(Value, bool), String> {
    if let Some((keys, skew)) = arguments.zipf {
        let law = Popularity::zipf(keys, skew);
        let rows: Vec<Value> = arguments
            .settings
            .entries
            .iter()
            .map(|&entries| json!({"entries": entries, "hit_ratio": law.hit_ratio(entries)}))
            .collect();
        return Ok((json!({ "answer": rows }), true));
    }
    let source: Box<dyn BufRead> = match &arguments.path {
        Some(path) => {
            let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
            Box::new(BufReader::with_capacity(1 << 18, file))
        }
        None => Box::new(BufReader::with_capacity(1 << 18, io::stdin())),
    };
    Ok(match analyse(source, &arguments.settings) {
        Ok(answer) => (json!({ "answer": answer }), true),
        Err(faults) => (json!(faults), false),
    })
}

fn parse(arguments: &[String]) -> Result<Arguments, String> {
    let mut parsed = Arguments::default();
    parsed.settings.memory_bytes = half_of_what_is_free();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument.starts_with("--") {
            let value = rest
                .next()
                .ok_or_else(|| format!("{argument} needs a value"))?;
            set(&mut parsed, argument, value)?;
        } else if parsed.path.replace(argument.clone()).is_some() {
            return Err("only one trace can be read".to_owned());
        }
    }
    if parsed.rate.is_some() || parsed.samples.is_some() {
        parsed.settings.sampling = Some(Sampling {
            rate: parsed.rate.unwrap_or(1.0),
            keys_at_most: parsed.samples,
        });
    }
    let (entries, bytes) = (parsed.settings.entries.len(), parsed.settings.bytes.len());
    if entries.max(1) * bytes.max(1) > LIMITS_AT_MOST {
        return Err(format!(
            "--entries and --bytes must form at most {LIMITS_AT_MOST} pairs, got {entries} times {bytes}"
        ));
    }
    if parsed.zipf.is_some() && (parsed.path.is_some() || entries == 0 || bytes > 0) {
        return Err("--zipf must be given with --entries, without a trace and --bytes".to_owned());
    }
    Ok(parsed)
}

fn set(parsed: &mut Arguments, option: &str, value: &str) -> Result<(), String> {
    let wrong = |what: &str| format!("{option} must be {what}, got {value} instead");
    let whole = |text: &str, least: u64| {
        text.parse::<u64>()
            .ok()
            .filter(|&count| count >= least && count <= KEYS_AT_MOST)
    };
    let count = |least: u64| {
        whole(value, least).ok_or_else(|| wrong(&format!("a whole number from {least} to 2^53")))
    };
    let list = |least: u64| {
        let parts: Option<Vec<u64>> = value.split(',').map(|part| whole(part, least)).collect();
        parts.ok_or_else(|| wrong("whole numbers, separated by commas"))
    };
    match option {
        "--entries" => parsed.settings.entries = list(1)?,
        "--bytes" => parsed.settings.bytes = list(0)?,
        "--metadata-bytes" => parsed.settings.metadata_bytes = count(0)?,
        "--warm-up" => parsed.settings.warm_up = count(0)?,
        "--memory" => parsed.settings.memory_bytes = count(1)? as usize,
        "--samples" => parsed.samples = Some(count(8)? as usize),
        "--shards" => {
            let rate = value
                .parse()
                .ok()
                .filter(|&rate: &f64| rate > 0.0 && rate <= 1.0);
            parsed.rate = Some(rate.ok_or_else(|| wrong("a number above 0, at most 1"))?);
        }
        "--zipf" => {
            let law = value.split_once(':').and_then(|(keys, skew)| {
                let skew = skew
                    .parse()
                    .ok()
                    .filter(|&skew: &f64| (0.0..=100.0).contains(&skew));
                Some((whole(keys, 1)?, skew?))
            });
            parsed.zipf = Some(law.ok_or_else(|| wrong("KEYS:SKEW, such as 1000000:0.9"))?);
        }
        _ => return Err(format!("{option} is not an option")),
    }
    Ok(())
}

/// Returns half of the memory that is available without swapping. [B]
fn half_of_what_is_free() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kibibytes = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| {
            rest.trim()
                .trim_end_matches("kB")
                .trim()
                .parse::<usize>()
                .ok()
        });
    kibibytes.map_or(MEMORY_UNKNOWN, |free| free * 1024 / 2)
}
