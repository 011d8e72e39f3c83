//! Constant properties of the host, for the header of the probe's output.

use std::fs;

use crate::json::Json;
use crate::run::Roots;
use crate::sys;
use crate::text;

/// Writes the object `host` of the header.
pub fn write(roots: &Roots, json: &mut Json) {
    let read = |name: &str| fs::read(roots.proc.join(name)).ok();
    let line = |name: &str| read(name).map(|content| text::owned(&content));
    json.object("host");
    json.text("name", line("sys/kernel/hostname").as_deref());
    json.text("kernel", line("sys/kernel/osrelease").as_deref());
    json.count("cpus", sys::online_cpus());
    json.text(
        "cpu_model",
        read("cpuinfo")
            .and_then(|content| cpu_model(&content))
            .as_deref(),
    );
    let memory = read("meminfo").and_then(|content| text::keyed(&content, "MemTotal"));
    json.count("memory_bytes", memory.map(|kibibytes| kibibytes * 1024));
    json.count("page_bytes", sys::page_bytes());
    json.count("clock_ticks", sys::clock_ticks());
    json.end_object();
}

/// Returns the model name of the first CPU in `/proc/cpuinfo`. ARM kernels do not report a model name.
fn cpu_model(content: &[u8]) -> Option<String> {
    let line = text::lines(content).find(|line| line.starts_with(b"model name"))?;
    let colon = line.iter().position(|byte| *byte == b':')?;
    Some(text::owned(&line[colon + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_that_of_the_first_cpu() {
        let content = b"processor\t: 0\nmodel\t\t: 207\nmodel name\t: Some CPU @ 2.3GHz\n\nmodel name\t: Other\n";
        assert_eq!(cpu_model(content).as_deref(), Some("Some CPU @ 2.3GHz"));
        assert_eq!(cpu_model(b"processor\t: 0\n"), None);
    }
}
