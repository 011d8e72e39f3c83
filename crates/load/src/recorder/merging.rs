//! Merges the recorded intervals of a load thread into longer ones, so that a run of many hours can be analysed with
//! little memory and time.
//!
//! Only consecutive intervals of one stage are merged. Counts and sums are added, histograms are added counter by
//! counter, and numbers at the end of an interval are those of the last one. A line that is damaged, or that has keys or
//! values which this module does not know, is passed on as it is.

mod interval;

use serde::Deserialize;

use super::line::PREFIX_BYTES;
use crate::histogram::{Decoder, Encoder, Entries, Histogram};
use interval::{Interval, sum_of};

/// Merges the intervals in the text of a segment file into intervals of at most `width_ns`, and appends the text of the
/// shorter file to `out`. All other lines are copied, but not a last line whose end is missing.
pub fn merge(segment: &[u8], width_ns: u64, out: &mut Vec<u8>) {
    let mut merging = Merging {
        width_ns: width_ns.max(1),
        cell: 0,
        group: None,
        decoder: Decoder::new(),
        encoder: Encoder::new(),
    };
    for line in segment.split_inclusive(|&byte| byte == b'\n') {
        if let Ok(interval) = merging.read(line) {
            merging.take(interval, out);
        } else {
            merging.flush(out);
            copy(line, out);
        }
    }
    merging.flush(out);
}

/// Copies the lines of a segment file to `out`, without the intervals that lie entirely outside a time span.
pub fn within(segment: &[u8], from_ns: u64, until_ns: u64, out: &mut Vec<u8>) {
    #[derive(Deserialize)]
    struct Times {
        t0_ns: u64,
        t1_ns: u64,
    }
    for line in segment.split_inclusive(|&byte| byte == b'\n') {
        let times = document_of(line).and_then(|text| serde_json::from_slice::<Times>(text).ok());
        if times.is_none_or(|Times { t0_ns, t1_ns }| t1_ns > from_ns && t0_ns < until_ns) {
            copy(line, out);
        }
    }
}

/// Copies a line, unless its end is missing, so that it does not run into the first line of the next file.
fn copy(line: &[u8], out: &mut Vec<u8>) {
    if line.ends_with(b"\n") {
        out.extend_from_slice(line);
    }
}

/// Error: a line is damaged, or no interval that can be merged.
struct Unmergeable;

struct Merging<'a> {
    width_ns: u64,
    /// Number of the multiple of the width in which the group lies.
    cell: u64,
    group: Option<Interval<'a, Histogram<u64>>>,
    decoder: Decoder,
    encoder: Encoder,
}

impl<'a> Merging<'a> {
    /// Reads an interval; an error if the line is damaged, or no interval that can be merged.
    fn read(&mut self, line: &'a [u8]) -> Result<Interval<'a, Entries>, Unmergeable> {
        let document = document_of(line).ok_or(Unmergeable)?;
        let read = serde_json::from_slice::<Interval<'a, &'a str>>(document);
        let interval = read
            .map_err(|_| Unmergeable)?
            .map(&mut |text: &str| self.decoder.entries(text.as_bytes()).ok_or(Unmergeable))?;
        if interval.t0_ns <= interval.t1_ns {
            Ok(interval)
        } else {
            Err(Unmergeable)
        }
    }

    fn take(&mut self, mut interval: Interval<'a, Entries>, out: &mut Vec<u8>) {
        // The middle decides, because load threads do not start their intervals at exactly the same time.
        let cell = interval.t0_ns.midpoint(interval.t1_ns) / self.width_ns;
        if let Some(group) = &mut self.group
            && (self.cell, group.stage) == (cell, interval.stage)
            && interval.t0_ns == group.t1_ns
        {
            group.note_stall();
            interval.note_stall();
            group.add(interval);
            return;
        }
        self.flush(out);
        self.cell = cell;
        self.group = interval.map(&mut |entries| Ok(sum_of(&entries))).ok();
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        let Some(group) = self.group.take() else {
            return;
        };
        let merged = group.map(&mut |histogram: Histogram<u64>| {
            let mut text = Vec::new();
            self.encoder.append_base64(&histogram, &mut text);
            String::from_utf8(text).map_err(|_| Unmergeable)
        });
        let document = merged
            .ok()
            .and_then(|interval| serde_json::to_vec(&interval).ok())
            .expect("a merged interval can be written");
        out.extend_from_slice(format!("{:08x} ", crc32fast::hash(&document)).as_bytes());
        out.extend_from_slice(&document);
        out.push(b'\n');
    }
}

/// Returns the JSON document of a whole line; `None` if its checksum is wrong.
fn document_of(line: &[u8]) -> Option<&[u8]> {
    let (prefix, document) = line.strip_suffix(b"\n")?.split_at_checked(PREFIX_BYTES)?;
    let checksum = std::str::from_utf8(&prefix[..PREFIX_BYTES - 1]).ok()?;
    let is_whole = u32::from_str_radix(checksum, 16).ok()? == crc32fast::hash(document);
    is_whole.then_some(document)
}

#[cfg(test)]
mod tests;
