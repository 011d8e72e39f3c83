//! Commands for a running probe, as lines on standard input.

use crate::run::GroupRoot;

/// A command to a running probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `group NAME PID`: sample the process tree below the process `PID` under the name `NAME`. The tree replaces an
    /// earlier tree of the same name, and the totals continue.
    Group(GroupRoot),
    /// `drop NAME`: stop sampling the process tree of this name.
    Drop(String),
}

/// Longest accepted line with a command. [bytes]
const LONGEST_LINE: usize = 4096;

/// Splits the bytes of standard input into lines with commands.
#[derive(Debug, Default)]
pub struct Lines {
    pending: Vec<u8>,
}

impl Lines {
    /// Takes bytes from standard input and returns the commands that these bytes complete. For an invalid line, returns
    /// a description of the fault.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Result<Command, String>> {
        self.pending.extend_from_slice(bytes);
        let mut commands = Vec::new();
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if !line.trim().is_empty() {
                commands.push(parse(line.trim()));
            }
        }
        if self.pending.len() > LONGEST_LINE {
            self.pending.clear();
            commands.push(Err(format!(
                "a command must be a line of at most {LONGEST_LINE} bytes"
            )));
        }
        commands
    }
}

fn parse(line: &str) -> Result<Command, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["group", name, pid] => group(name, pid).map(Command::Group),
        ["drop", name] => Ok(Command::Drop((*name).to_owned())),
        _ => Err(format!(
            "a command must be `group NAME PID` or `drop NAME`, got `{line}` instead"
        )),
    }
}

/// Reads a group from its name and the process id of its root process.
///
/// # Errors
///
/// A sentence that describes the fault of the name or of the process id.
pub fn group(name: &str, pid: &str) -> Result<GroupRoot, String> {
    if name.is_empty() {
        return Err("the name of a group must not be empty".to_owned());
    }
    match pid.parse::<u32>() {
        Ok(pid) if pid > 0 => Ok(GroupRoot {
            name: name.to_owned(),
            pid,
        }),
        _ => Err(format!(
            "group {name}: PID must be a whole number from 1, got `{pid}` instead"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_may_arrive_in_pieces() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"group con"), vec![]);
        let root = GroupRoot {
            name: "content".into(),
            pid: 12,
        };
        assert_eq!(
            lines.push(b"tent 12\n\ndrop web\nx"),
            vec![Ok(Command::Group(root)), Ok(Command::Drop("web".into()))]
        );
    }

    #[test]
    fn wrong_commands_are_told_and_passed_over() {
        let mut lines = Lines::default();
        for wrong in [
            "stop\n",
            "group a\n",
            "group a 0\n",
            "group a -3\n",
            "drop\n",
            "group a 1 2\n",
        ] {
            assert!(lines.push(wrong.as_bytes())[0].is_err(), "{wrong}");
        }
        assert!(lines.push(&[b'x'; LONGEST_LINE]).is_empty());
        assert!(lines.push(b"x")[0].is_err(), "a line of one byte more");
        assert_eq!(lines.push(b"drop a\n"), vec![Ok(Command::Drop("a".into()))]);
    }
}
