//! Values from `/proc/net/dev`, the tables of `/proc/net/snmp` and `/proc/net/netstat`, and `/proc/net/sockstat`.

use crate::json::Json;
use crate::text;

/// Writes the object `networks`, with an entry for each interface that has transferred any packets.
pub fn write(content: &[u8], json: &mut Json) {
    json.object("networks");
    for line in text::lines(content) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let mut columns = [0_u64; 16];
        let mut count = 0;
        for (column, field) in columns.iter_mut().zip(text::fields(&line[colon + 1..])) {
            let Some(number) = text::number(field) else {
                break;
            };
            *column = number;
            count += 1;
        }
        // Columns 0 to 7 count received data, 8 to 15 transmitted data, as the heading lines state. An interface
        // without packets (columns 1 and 9) is left out.
        if count < 12 || (columns[1] == 0 && columns[9] == 0) {
            continue;
        }
        json.object(&text::owned(&line[..colon]));
        json.count("receive_bytes_total", columns[0]);
        json.count("transmit_bytes_total", columns[8]);
        json.count("receive_packets_total", columns[1]);
        json.count("transmit_packets_total", columns[9]);
        json.count("errors_total", columns[2] + columns[10]);
        json.count("drops_total", columns[3] + columns[11]);
        json.end_object();
    }
    json.end_object();
}

/// Finds the number with the name `name` in a table of two lines: the first line contains the names, the second the
/// values. Both lines start with `prefix` (such as `Tcp:`).
#[must_use]
pub fn paired(content: &[u8], prefix: &str, name: &str) -> Option<u64> {
    let mut rows =
        text::lines(content).filter(|line| text::fields(line).next() == Some(prefix.as_bytes()));
    let names = rows.next()?;
    let values = rows.next()?;
    text::fields(names)
        .zip(text::fields(values))
        .find_map(|(heading, value)| (heading == name.as_bytes()).then(|| text::number(value)))?
}

/// Finds the number that follows `name` in the line that starts with `prefix` (such as `TCP:`).
#[must_use]
pub fn behind(content: &[u8], prefix: &str, name: &str) -> Option<u64> {
    let line =
        text::lines(content).find(|line| text::fields(line).next() == Some(prefix.as_bytes()))?;
    let mut fields = text::fields(line);
    fields.find(|field| *field == name.as_bytes())?;
    text::number(fields.next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(content: &str) -> String {
        let mut json = Json::default();
        json.begin();
        write(content.as_bytes(), &mut json);
        json.end_object();
        json.as_str().to_owned()
    }

    /// The columns are numbered from 1, so that each value shows its column.
    #[test]
    fn each_value_has_its_column() {
        let columns = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16";
        let expected = "{\"networks\":{\"eth0\":{\"receive_bytes_total\":1,\"transmit_bytes_total\":9,\
                        \"receive_packets_total\":2,\"transmit_packets_total\":10,\
                        \"errors_total\":14,\"drops_total\":16}}}";
        assert_eq!(written(&format!("eth0: {columns}\n")), expected);
        assert_eq!(written(&format!("eth0:{columns}\n")), expected);
        assert_eq!(
            written("eth0: 1 2 3 4 5 6 7 8 9 10 11 12\n"),
            expected,
            "twelve columns are enough"
        );
        assert_eq!(
            written("eth0: 1 2 3 4 5 6 7 8 9 10 11\n"),
            "{\"networks\":{}}"
        );
    }

    #[test]
    fn an_interface_that_only_sends_or_only_receives_has_an_entry() {
        let line = |received: u64, sent: u64| {
            format!("eth0: 0 {received} 0 0 0 0 0 0 0 {sent} 0 0 0 0 0 0\n")
        };
        let has_entry = |content: &str| written(content).contains("eth0");
        assert!(has_entry(&line(1, 0)) && has_entry(&line(0, 1)));
        assert!(!has_entry(&line(0, 0)));
        assert!(!has_entry("eth0: 9 0 9 9 9 9 9 9 9 0 9 9 9 9 9 9\n"));
    }

    #[test]
    fn numbers_are_found_by_their_names() {
        let table = b"Tcp: InSegs OutSegs\nTcp: 7 8\nUdp: InSegs\nUdp: 9\n";
        assert_eq!(paired(table, "Tcp:", "OutSegs"), Some(8));
        assert_eq!(paired(table, "Udp:", "InSegs"), Some(9));
        assert_eq!(paired(table, "Udp:", "OutSegs"), None);
        let sockets = b"sockets: used 9\nTCP: inuse 3 orphan 1 tw 5\n";
        assert_eq!(behind(sockets, "TCP:", "tw"), Some(5));
        assert_eq!(behind(sockets, "TCP:", "mem"), None);
    }
}
