//! The program `towtank-engine`: `load | merge | probe | guard | solve | simulate | caches | rate | null-server | peer`.
//!
//! Each subcommand has a separate module; this file selects it.

mod caches;
mod cpus;
mod guard;
mod load;
mod merge;
mod models;
mod null_server;
mod peer;
mod probe;
mod rate;
mod simulate;
mod solve;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("--version") => {
            println!("towtank-engine {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Some("caches") => caches::run(&arguments[1..]),
        Some("load") => load::run(&arguments[1..]),
        Some("guard") => guard::run(&arguments[1..]),
        Some("merge") => merge::run(&arguments[1..]),
        Some("null-server") => null_server::run(&arguments[1..]),
        Some("peer") => peer::run(&arguments[1..]),
        Some("simulate") => simulate::run(&arguments[1..]),
        Some("solve") => solve::run(&arguments[1..]),
        Some("rate") => rate::main(&arguments[1..]),
        Some("probe") => probe::main(&arguments[1..]),
        _ => {
            eprintln!(
                "usage: towtank-engine load PLAN | merge | probe | guard | solve | simulate | caches | rate | null-server | peer"
            );
            ExitCode::from(2)
        }
    }
}
