//! Driver for SQLite, which runs in this process. The database computes in the thread that makes the call.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, OpenFlags, Statement, ToSql, types};

use crate::answer::{Answer, Failed, FailureKind, Meter};
use crate::clock::monotonic_ns;
use crate::executor::Call;
use crate::operation::{Operation, Task};
use crate::server::Synchronous;
use crate::session::{Value, Working};

/// Largest number of prepared statements that a session keeps.
const PREPARED_AT_MOST: usize = 256;
/// The lock time-out of SQLite is the time limit of the call plus this time, so that the load thread discards the call
/// first.
const BEYOND_THE_CALL: Duration = Duration::from_secs(2);

struct Session {
    connection: Connection,
    busy_ns: u64,
}

/// Opens a session.
///
/// # Errors
///
/// A failure of the kind `connect`, if the file does not exist, or is not a database.
pub(crate) fn open(
    path: &Path,
    synchronous: Synchronous,
    cache_bytes: Option<u64>,
) -> Result<Box<dyn Working>, Failed> {
    let connect = |error: Error| Failed::new(FailureKind::Connect, reason(&error));
    // Each session is used by one thread at a time, so SQLite need not protect the session by a lock.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(connect)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_AT_MOST);
    let level = match synchronous {
        Synchronous::Off => "OFF",
        Synchronous::Normal => "NORMAL",
        Synchronous::Full => "FULL",
    };
    connection
        .pragma_update(None, "synchronous", level)
        .map_err(connect)?;
    if let Some(bytes) = cache_bytes {
        // A negative `cache_size` is a size in KiB, a positive one a number of pages.
        let kibibytes = -i64::try_from(bytes / 1024).unwrap_or(i64::MAX);
        connection
            .pragma_update(None, "cache_size", kibibytes)
            .map_err(connect)?;
    }
    Ok(Box::new(Session {
        connection,
        busy_ns: 0,
    }))
}

/// Returns the name of a result code of SQLite, as in the documentation of SQLite.
fn reason(error: &Error) -> String {
    let Error::SqliteFailure(code, message) = error else {
        return "no result".to_owned();
    };
    let name = match code.extended_code & 0xff {
        1 => "SQLITE_ERROR",
        5 => "SQLITE_BUSY",
        6 => "SQLITE_LOCKED",
        8 => "SQLITE_READONLY",
        9 => "SQLITE_INTERRUPT",
        10 => "SQLITE_IOERR",
        11 => "SQLITE_CORRUPT",
        13 => "SQLITE_FULL",
        14 => "SQLITE_CANTOPEN",
        17 => "SQLITE_SCHEMA",
        19 => "SQLITE_CONSTRAINT",
        20 => "SQLITE_MISMATCH",
        21 => "SQLITE_MISUSE",
        26 => "SQLITE_NOTADB",
        other => return format!("SQLite code {other}"),
    };
    match (name, message) {
        // The code `SQLITE_ERROR` does not identify the cause, so the message of SQLite is used.
        ("SQLITE_ERROR", Some(message)) => format!("{name}: {message}"),
        _ => name.to_owned(),
    }
}

/// Binds a value to a parameter: a whole number as an integer, everything else as text. Only numeric columns convert
/// text to numbers (type affinity, section 3 of <https://sqlite.org/datatype3.html>); expressions do not.
struct Bound<'a>(&'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<types::ToSqlOutput<'_>> {
        let Some(bytes) = self.0 else {
            return Ok(types::ToSqlOutput::Borrowed(ValueRef::Null));
        };
        let text = std::str::from_utf8(bytes).ok();
        let number = text.and_then(|text| {
            let number: i64 = text.parse().ok()?;
            (number.to_string() == text).then_some(number)
        });
        Ok(types::ToSqlOutput::Borrowed(
            number.map_or(ValueRef::Text(bytes), ValueRef::Integer),
        ))
    }
}

/// Converts a value to text; `None` for NULL.
fn shown(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(number.to_string().into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
    }
}

fn length(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Null => 0,
        ValueRef::Integer(_) | ValueRef::Real(_) => 8,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
    }
}

impl Session {
    /// Makes SQLite wait for locks longer than the time limit of the call. A blocked call therefore times out instead
    /// of failing with an error of SQLite.
    fn wait_at_most(&mut self, timeout_ns: u64) -> rusqlite::Result<()> {
        if timeout_ns != self.busy_ns {
            self.connection
                .busy_timeout(Duration::from_nanos(timeout_ns) + BEYOND_THE_CALL)?;
            self.busy_ns = timeout_ns;
        }
        Ok(())
    }

    fn run(
        &mut self,
        text: &str,
        task: &Task,
        call: &Call,
        meter: &mut Meter,
    ) -> rusqlite::Result<Answer> {
        self.wait_at_most(call.timeout_ns)?;
        let changes_before = self.connection.total_changes();
        let mut statement = self.connection.prepare_cached(text)?;
        bind(&mut statement, &call.values)?;
        let sent: usize = call.values.iter().flatten().map(Vec::len).sum();
        meter.bytes_out += sent as u64;
        let names = statement.column_names();
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let mut answer = Answer {
            columns: names.into(),
            ..Answer::default()
        };
        let mut room_bytes = task.rows_bytes_at_most;
        let columns = answer.columns.len();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            meter.first_byte_ns.get_or_insert_with(monotonic_ns);
            answer.row_count += 1;
            let mut row_bytes = 0;
            for column in 0..columns {
                row_bytes += length(row.get_ref(column)?);
            }
            meter.bytes_in += row_bytes as u64;
            answer.is_truncated |= task.keeps_rows && row_bytes > room_bytes;
            if task.keeps_rows && !answer.is_truncated {
                room_bytes -= row_bytes;
                let values = (0..columns).map(|column| row.get_ref(column).map(shown));
                answer.rows.push(values.collect::<rusqlite::Result<_>>()?);
            }
        }
        drop(rows);
        answer.affected = self.connection.total_changes() - changes_before;
        Ok(answer)
    }
}

/// Binds the values of the parameters `$1`, `$2` and so on.
fn bind(statement: &mut Statement<'_>, values: &[Value]) -> rusqlite::Result<()> {
    for (number, value) in values.iter().enumerate() {
        // SQLite treats `$1` as the name of a parameter, and numbers parameters in the order in which their names first
        // occur. The number is therefore looked up by the name.
        if let Some(index) = statement.parameter_index(&format!("${}", number + 1))? {
            statement.raw_bind_parameter(index, Bound(value))?;
        }
    }
    Ok(())
}

impl Working for Session {
    fn perform(&mut self, task: &Task, call: &Call, meter: &mut Meter) -> Result<Answer, Failed> {
        let Operation::Sql { text } = &task.operation else {
            return Err(Failed::new(FailureKind::Internal, "no statement"));
        };
        let result = self.run(text, task, call, meter);
        result.map_err(|error| Failed::new(FailureKind::Refused, reason(&error)))
    }

    fn is_held(&self) -> bool {
        !self.connection.is_autocommit()
    }

    fn reset(&mut self) -> Result<(), Failed> {
        if !self.is_held() {
            return Ok(());
        }
        let undone = self.connection.execute_batch("ROLLBACK");
        undone.map_err(|error| Failed::new(FailureKind::Closed, reason(&error)))
    }
}
