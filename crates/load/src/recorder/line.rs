//! Formats the lines of a result file. No JSON library is used: the lines consist mostly of histograms, which are
//! encoded straight into the output buffer.

use std::io::Write as _;

use super::series::{Series, StepSeries};
use super::statuses::Statuses;
use super::writer::{EndReason, Header, IntervalEdge};
use super::{AddressCounts, Framing, Handshakes, Recorder, Totals};
use crate::histogram::{Counter, Encoder, Histogram};
use crate::outcome::{Failure, NotStarted};

/// Name and version of the JSON schema of the result files (segments).
const SCHEMA: &str = "towtank/segment/1";
/// Length of the text before the JSON document in a line: eight digits of the checksum, and a blank.
pub(super) const PREFIX_BYTES: usize = 9;

/// Memory for the line of an interval in which the server stalls: the histograms of such an interval contain values of
/// many magnitudes. [B]
const ROOMY_LINE_BYTES: usize = 64 << 10;

/// Builds one line at a time and reuses its memory.
#[derive(Debug, Default)]
pub(super) struct LineBuilder {
    line: Vec<u8>,
    encoder: Encoder,
}

impl LineBuilder {
    /// Allocates memory for the longest lines, which occur when the server or the machine stalls for seconds.
    pub(super) fn make_room(&mut self) {
        self.line.resize(ROOMY_LINE_BYTES, 0);
        self.line.clear();
        self.encoder.make_room();
    }

    /// Formats the first line of the segment (result file) with number `part`.
    pub(super) fn header(&mut self, header: &Header, part: usize) -> &[u8] {
        #[derive(serde::Serialize)]
        struct Line<'a> {
            k: &'static str,
            schema: &'static str,
            part: usize,
            #[serde(flatten)]
            header: &'a Header,
        }
        self.begin();
        let line = Line {
            k: "header",
            schema: SCHEMA,
            part,
            header,
        };
        serde_json::to_writer(&mut self.line, &line).expect("texts and numbers become JSON");
        self.finish()
    }

    /// Formats the line with the results of one interval.
    pub(super) fn interval(
        &mut self,
        sequence: u64,
        edge: &IntervalEdge,
        recorder: &Recorder,
    ) -> &[u8] {
        self.begin();
        put(
            &mut self.line,
            format_args!(
                r#"{{"k":"interval","seq":{sequence},"t0_ns":{},"t1_ns":{},"stage":{},"users":{},"user_ns":{},"in_flight":{},"connections":{},"cpu_ns":{}"#,
                edge.t0_ns,
                edge.t1_ns,
                edge.stage,
                edge.users,
                edge.user_ns,
                edge.in_flight,
                edge.connections,
                edge.cpu_ns
            ),
        );
        if edge.waiting > 0 {
            put(
                &mut self.line,
                format_args!(r#","waiting":{}"#, edge.waiting),
            );
        }
        put(
            &mut self.line,
            format_args!(r#","gap_ns":{}"#, edge.gaps.longest_ns),
        );
        if edge.gaps.stalled_ns > 0 {
            put(
                &mut self.line,
                format_args!(r#","stalled_ns":{}"#, edge.gaps.stalled_ns),
            );
        }
        self.framing(recorder.framing);
        self.histogram("lag", &recorder.lag);
        self.histogram("connect", &recorder.connect);
        self.histogram("connection_wait", &recorder.connection_wait);
        self.histogram("tls", &recorder.tls);
        if recorder.handshakes.all() > 0 {
            let Handshakes { full, resumed } = recorder.handshakes;
            put(
                &mut self.line,
                format_args!(r#","handshakes":{{"full":{full},"resumed":{resumed}}}"#),
            );
        }
        put(
            &mut self.line,
            format_args!(
                r#","think":{{"count":{},"sum_ns":{}}}"#,
                recorder.think_count, recorder.think_sum_ns
            ),
        );
        self.rests(recorder);
        self.arrivals(recorder);
        self.places(&recorder.places);
        self.line.extend_from_slice(br#","series":["#);
        self.all_series(recorder);
        self.line.extend_from_slice(b"]}");
        self.finish()
    }

    /// Formats the last line in the results of a load thread.
    pub(super) fn end(
        &mut self,
        reason: EndReason,
        message: Option<&str>,
        t_ns: u64,
        totals: &Totals,
    ) -> &[u8] {
        self.begin();
        put(
            &mut self.line,
            format_args!(
                r#"{{"k":"end","t_ns":{t_ns},"reason":"{}","message":"#,
                reason.name()
            ),
        );
        serde_json::to_writer(&mut self.line, &message).expect("text becomes JSON");
        put(
            &mut self.line,
            format_args!(
                r#","totals":{{"offered":{},"started":{},"ok":{}"#,
                totals.offered, totals.started, totals.ok
            ),
        );
        self.kinds("failed", &totals.failed, Failure::ALL.map(Failure::name));
        self.kinds(
            "not_started",
            &totals.not_started,
            NotStarted::ALL.map(NotStarted::name),
        );
        put(
            &mut self.line,
            format_args!(r#","in_flight":{}}}}}"#, totals.in_flight),
        );
        self.finish()
    }

    /// Appends the counts of received data that belongs to no request, unless they are zero.
    fn framing(&mut self, framing: Framing) {
        let Framing { surplus, unasked } = framing;
        if surplus + unasked > 0 {
            put(
                &mut self.line,
                format_args!(r#","framing":{{"surplus":{surplus},"unasked":{unasked}}}"#),
            );
        }
    }

    /// Appends the histograms of pauses between transactions, for the groups whose users had such pauses.
    fn rests(&mut self, recorder: &Recorder) {
        self.line.extend_from_slice(br#","thinks":["#);
        let mut comma = "";
        for (group, pauses) in recorder.rests.iter().enumerate() {
            if !pauses.is_empty() {
                put(&mut self.line, format_args!(r#"{comma}{{"group":{group}"#));
                self.timed("pause", pauses);
                self.line.push(b'}');
                comma = ",";
            }
        }
        self.line.push(b']');
    }

    /// Appends the number of arrivals of each group in an open load, and the times between arrivals.
    fn arrivals(&mut self, recorder: &Recorder) {
        if recorder.gaps.is_empty() {
            return;
        }
        self.counts(r#","arrivals":["#, recorder.arrivals.iter().copied());
        self.line.push(b']');
        self.timed("gaps", &recorder.gaps);
    }

    /// Appends the number of transactions at each server address, for targets whose users keep the same address.
    fn places(&mut self, places: &[AddressCounts]) {
        if places
            .iter()
            .all(|place| *place == AddressCounts::default())
        {
            return;
        }
        self.counts(r#","places":{"ok":["#, places.iter().map(|place| place.ok));
        self.counts(r#"],"failed":["#, places.iter().map(|place| place.failed));
        self.line.extend_from_slice(b"]}");
    }

    /// Appends numbers separated by commas. `opening` precedes the first number.
    fn counts(&mut self, opening: &str, counts: impl Iterator<Item = u64>) {
        let mut before = opening;
        for count in counts {
            put(&mut self.line, format_args!("{before}{count}"));
            before = ",";
        }
    }

    fn all_series(&mut self, recorder: &Recorder) {
        let start = self.line.len();
        for (step, series) in recorder
            .steps
            .iter()
            .enumerate()
            .filter(|(_, series)| !series.is_empty())
        {
            self.step(step, series);
        }
        for (page, series) in recorder
            .pages
            .iter()
            .enumerate()
            .filter(|(_, series)| !series.is_empty())
        {
            put(&mut self.line, format_args!(r#"{{"of":"page","id":{page}"#));
            self.ended(series);
            self.line.extend_from_slice(b"},");
        }
        for (index, (series, picked)) in recorder
            .transactions
            .iter()
            .zip(&recorder.picked)
            .enumerate()
            .filter(|(_, (series, picked))| !series.is_empty() || **picked > 0)
        {
            let (transaction, group) =
                (index / recorder.shape.groups, index % recorder.shape.groups);
            put(
                &mut self.line,
                format_args!(
                    r#"{{"of":"transaction","id":{transaction},"group":{group},"picked":{picked}"#
                ),
            );
            self.ended(series);
            self.line.extend_from_slice(b"},");
        }
        if self.line.len() > start {
            self.line.pop(); // the comma after the last entry
        }
    }

    fn step(&mut self, step: usize, series: &StepSeries) {
        put(
            &mut self.line,
            format_args!(
                r#"{{"of":"step","id":{step},"offered":{},"started":{},"bytes_out":{},"bytes_in":{}"#,
                series.offered, series.started, series.bytes_out, series.bytes_in
            ),
        );
        self.kinds(
            "not_started",
            &series.not_started,
            NotStarted::ALL.map(NotStarted::name),
        );
        self.statuses(&series.statuses);
        self.ended(&series.ended);
        self.timed("exchange", &series.exchange);
        self.histogram("first_byte", &series.first_byte);
        self.line.extend_from_slice(b"},");
    }

    /// Appends the number of responses by status code, for the codes that occurred. The key is written even without any
    /// codes: a missing key means that nothing was counted.
    fn statuses(&mut self, statuses: &Statuses) {
        self.line.extend_from_slice(br#","status_codes":{"#);
        let mut comma = "";
        for (code, count) in statuses.all() {
            put(&mut self.line, format_args!(r#"{comma}"{code}":{count}"#));
            comma = ",";
        }
        self.line.push(b'}');
    }

    fn ended(&mut self, series: &Series) {
        put(&mut self.line, format_args!(r#","ok":{}"#, series.ok));
        self.kinds("failed", &series.failed, Failure::ALL.map(Failure::name));
        self.timed("response", &series.response);
        let saturated = series.response.saturated();
        if saturated > 0 {
            put(&mut self.line, format_args!(r#","saturated":{saturated}"#));
        }
    }

    /// Appends `,"name":{"kind":count}` with the kinds whose count is not zero.
    fn kinds<const N: usize>(&mut self, name: &str, counts: &[u64; N], kinds: [&str; N]) {
        put(&mut self.line, format_args!(r#","{name}":{{"#));
        let mut comma = "";
        for (count, kind) in counts.iter().zip(kinds).filter(|(count, _)| **count > 0) {
            put(&mut self.line, format_args!(r#"{comma}"{kind}":{count}"#));
            comma = ",";
        }
        self.line.push(b'}');
    }

    /// Appends a histogram of times and the exact sum of its values.
    fn timed<C: Counter>(&mut self, name: &str, histogram: &Histogram<C>) {
        self.histogram(name, histogram);
        put(
            &mut self.line,
            format_args!(r#","{name}_sum_ns":{}"#, histogram.sum_ns()),
        );
    }

    fn histogram<C: Counter>(&mut self, name: &str, histogram: &Histogram<C>) {
        if histogram.is_empty() {
            return;
        }
        put(&mut self.line, format_args!(r#","{name}":""#));
        self.encoder.append_base64(histogram, &mut self.line);
        self.line.push(b'"');
    }

    /// Formats a line from a JSON document that is already complete.
    pub(super) fn document(&mut self, document: &[u8]) -> &[u8] {
        self.begin();
        self.line.extend_from_slice(document);
        self.finish()
    }

    fn begin(&mut self) {
        self.line.clear();
        self.line.extend_from_slice(&[b' '; PREFIX_BYTES]);
    }

    /// Inserts the checksum before the JSON document, and ends the line.
    fn finish(&mut self) -> &[u8] {
        let checksum = crc32fast::hash(&self.line[PREFIX_BYTES..]);
        write!(&mut self.line[..PREFIX_BYTES - 1], "{checksum:08x}")
            .expect("the line begins with eight blanks for the digits");
        self.line.push(b'\n');
        &self.line
    }
}

fn put(line: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    line.write_fmt(text).expect("writing to memory cannot fail");
}
