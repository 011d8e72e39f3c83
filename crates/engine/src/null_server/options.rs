//! The command line of the null server.

use std::path::PathBuf;
use std::str::FromStr;

use super::schedule::{Schedule, Stalls};
use super::work::{Variation, Work};
use crate::cpus;

pub const USAGE: &str = "usage: towtank-engine null-server [--listen ADDRESS:PORT] [--ports N] [--threads N] [--cpus LIST] [--body BYTES]
    [--delay MILLISECONDS] [--work MILLISECONDS [--work-variation constant|exponential] [--seed N]] [--stall-every SECONDS --stall-for SECONDS] [--log FILE] [--misbehave KIND] [--http2] [--until-stdin-closes]";

/// Kinds of faulty behaviour of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The server sends bytes that are not HTTP; the connection stays open.
    Rubbish,
    /// The server sends half a response, and then closes the connection.
    Half,
    /// The server sends half a response and nothing after it; the connection stays open.
    HalfSilent,
    /// The server sends a response head that continues for 100 MB.
    HeaderFlood,
    /// The server sends 10 MB that decompress to 10 GB.
    GzipBomb,
    /// The server never responds; the connection stays open.
    Silent,
    /// The server closes the connection as soon as it is established.
    Close,
    /// The server resets the connection (TCP RST) when the request has arrived.
    Reset,
    /// The server sends a correct response at a rate of one byte every 100 ms.
    Slow,
    /// The server sends a chunk of a chunked response, followed by bytes that are not a chunk.
    ChunkGarbage,
    /// The server sends a correct response with status 500.
    Status500,
    /// The server sends a correct redirect to the same URL.
    RedirectLoop,
}

impl Kind {
    const NAMES: [(&str, Self); 12] = [
        ("rubbish", Self::Rubbish),
        ("half", Self::Half),
        ("half-silent", Self::HalfSilent),
        ("header-flood", Self::HeaderFlood),
        ("gzip-bomb", Self::GzipBomb),
        ("silent", Self::Silent),
        ("close", Self::Close),
        ("reset", Self::Reset),
        ("slow", Self::Slow),
        ("chunk-garbage", Self::ChunkGarbage),
        ("status-500", Self::Status500),
        ("redirect-loop", Self::RedirectLoop),
    ];

    /// Returns `true` if this kind of server sends a complete and valid HTTP response.
    pub fn is_answer(self) -> bool {
        matches!(self, Self::Status500 | Self::RedirectLoop)
    }

    fn parse(name: &str) -> Result<Self, String> {
        let known = Self::NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, kind)| *kind).ok_or_else(|| {
            let names: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
            format!(
                "--misbehave must be one of {}. Got {name:?} instead.",
                names.join(", ")
            )
        })
    }
}

#[derive(Debug, PartialEq)]
pub struct Options {
    pub listen: String,
    /// Number of ports to listen on. If the first port is given, the ports are consecutive.
    pub ports: u16,
    pub threads: usize,
    pub cpus: Option<Vec<usize>>,
    pub body_bytes: usize,
    pub delay_ms: f64,
    /// Mean CPU time that the server uses for each request. [ms]
    pub work_ms: f64,
    pub work_variation: Variation,
    /// Seed of the random numbers. Each thread has a separate sequence.
    pub seed: u64,
    pub stall_every_s: Option<f64>,
    pub stall_for_s: Option<f64>,
    pub log: Option<PathBuf>,
    pub misbehave: Option<Kind>,
    /// `true` if the server accepts HTTP/2 with prior knowledge (without negotiation).
    pub http2: bool,
    pub until_stdin_closes: bool,
}

impl Options {
    /// Parses the arguments after `null-server`. Returns all faults of the command line together.
    pub fn parse(arguments: &[String]) -> Result<Self, Vec<String>> {
        let mut options = Self {
            listen: "127.0.0.1:0".into(),
            ports: 1,
            threads: 1,
            cpus: None,
            body_bytes: 2,
            delay_ms: 0.0,
            work_ms: 0.0,
            work_variation: Variation::Constant,
            seed: 1,
            stall_every_s: None,
            stall_for_s: None,
            log: None,
            misbehave: None,
            http2: false,
            until_stdin_closes: false,
        };
        let mut faults = Vec::new();
        let mut rest = arguments.iter();
        while let Some(option) = rest.next() {
            if option == "--http2" {
                options.http2 = true;
                continue;
            }
            if option == "--until-stdin-closes" {
                options.until_stdin_closes = true;
                continue;
            }
            let value = rest.next().map(String::as_str);
            faults.extend(options.read(option, value).err());
        }
        faults.extend(options.stall_fault());
        if faults.is_empty() {
            Ok(options)
        } else {
            Err(faults)
        }
    }

    fn read(&mut self, option: &str, value: Option<&str>) -> Result<(), String> {
        let value =
            value.ok_or_else(|| format!("{option}: no such option, or its value is missing"))?;
        match option {
            "--listen" => value.clone_into(&mut self.listen),
            "--ports" => self.ports = number(option, value, 1, 1_024)?,
            "--threads" => self.threads = number(option, value, 1, 1_024)?,
            "--cpus" => {
                self.cpus = Some(cpus::parse(value).map_err(|fault| format!("--cpus {fault}"))?);
            }
            "--body" => self.body_bytes = number(option, value, 0, 1 << 30)?,
            "--delay" => self.delay_ms = number(option, value, 0.0, 3_600_000.0)?,
            "--work" => self.work_ms = number(option, value, 0.0, 60_000.0)?,
            "--work-variation" => {
                self.work_variation = Variation::parse(value).ok_or_else(|| {
                    format!("{option} must be constant or exponential. Got {value:?} instead.")
                })?;
            }
            "--seed" => self.seed = number(option, value, 0, u64::MAX)?,
            "--stall-every" => self.stall_every_s = Some(number(option, value, 0.001, 86_400.0)?),
            "--stall-for" => self.stall_for_s = Some(number(option, value, 0.0, 86_400.0)?),
            "--log" => self.log = Some(value.into()),
            "--misbehave" => self.misbehave = Some(Kind::parse(value)?),
            _ => return Err(format!("{option}: no such option")),
        }
        Ok(())
    }

    fn stall_fault(&self) -> Option<String> {
        match (self.stall_every_s, self.stall_for_s) {
            (None, None) => None,
            (Some(every), Some(duration)) if duration < every => None,
            (Some(_), Some(_)) => Some("--stall-for must be less than --stall-every".into()),
            _ => Some("--stall-every and --stall-for must be given together".into()),
        }
    }

    /// Creates the schedule of responses from the options for delay and stalls.
    pub fn schedule(&self, started_ns: u64) -> Schedule {
        let stalls = self
            .stall_every_s
            .zip(self.stall_for_s)
            .map(|(every_s, for_s)| Stalls {
                started_ns,
                every_ns: (every_s * 1e9) as u64,
                for_ns: (for_s * 1e9) as u64,
            });
        Schedule {
            delay_ns: (self.delay_ms * 1e6) as u64,
            stalls,
        }
    }

    /// Creates the generator of CPU work for the thread with this number.
    pub fn work(&self, thread: usize) -> Work {
        Work::new(
            (self.work_ms * 1e6) as u64,
            self.work_variation,
            self.seed,
            thread as u64,
        )
    }
}

/// Parses the value of an option as a number from `least` to `most`, including both.
fn number<T>(option: &str, value: &str, least: T, most: T) -> Result<T, String>
where
    T: Copy + FromStr + PartialOrd + std::fmt::Display,
{
    let parsed = value
        .parse()
        .ok()
        .filter(|number| *number >= least && *number <= most);
    parsed.ok_or_else(|| {
        format!("{option} must be a number in [{least}, {most}]. Got {value:?} instead.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Vec<String>> {
        Options::parse(
            &line
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn all_options_are_read() {
        let line = "--listen 127.0.0.1:80 --ports 3 --threads 2 --cpus 0-1 --body 7 --delay 1.5 --work 2.5 --work-variation exponential --seed 7 --stall-every 10 --stall-for 2 \
                    --log l --misbehave slow --http2 --until-stdin-closes";
        let expected = Options {
            listen: "127.0.0.1:80".into(),
            ports: 3,
            threads: 2,
            cpus: Some(vec![0, 1]),
            body_bytes: 7,
            delay_ms: 1.5,
            work_ms: 2.5,
            work_variation: Variation::Exponential,
            seed: 7,
            stall_every_s: Some(10.0),
            stall_for_s: Some(2.0),
            log: Some("l".into()),
            misbehave: Some(Kind::Slow),
            http2: true,
            until_stdin_closes: true,
        };
        assert_eq!(parse(line), Ok(expected));
    }

    #[test]
    fn all_faults_are_told_at_once() {
        let line = "--threads 0 --ports 0 --body x --delay -1 --work -1 --work-variation x --stall-every 1 --stall-for 2 --misbehave badly --what ever";
        assert_eq!(parse(line).unwrap_err().len(), 9);
        for line in [
            "--stall-every 1",
            "--stall-for 1",
            "--body",
            "--delay nan",
            "--cpus x",
        ] {
            assert_eq!(parse(line).map_err(|faults| faults.len()), Err(1), "{line}");
        }
    }
}
