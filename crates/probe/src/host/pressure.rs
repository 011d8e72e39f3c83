//! Pressure stall information: `/proc/pressure/{cpu,io,memory}`.

use crate::json::Json;
use crate::text;

const MICROSECOND_NS: u64 = 1000;

/// Writes the values of one resource: the time during which some tasks, or all tasks, waited for this resource.
///
/// For the CPU of a whole host `full` is not defined and its line is always zero, so it is left out.
pub fn write(resource: &str, content: &[u8], json: &mut Json) {
    json.object(resource);
    json.seconds("some_s_total", total_ns(content, "some"));
    if resource != "cpu" {
        json.seconds("full_s_total", total_ns(content, "full"));
    }
    json.end_object();
}

fn total_ns(content: &[u8], kind: &str) -> Option<u64> {
    let line =
        text::lines(content).find(|line| text::fields(line).next() == Some(kind.as_bytes()))?;
    let total = text::fields(line).find_map(|field| field.strip_prefix(b"total="))?;
    text::number(total).map(|microseconds| microseconds * MICROSECOND_NS)
}
