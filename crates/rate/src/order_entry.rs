//! Order entry on the embedded database: the five usual transactions of order systems in their usual mix.
//!
//! The workload resembles the TPC-C benchmark (revision 5.11, clauses 1 and 2): one warehouse, ten districts, 45 % new
//! orders, 43 % payments, and 4 % each of order status, delivery and stock level. One new order in a hundred is rolled
//! back.
//!
//! The data set is smaller than in TPC-C, and its size is constant: each new order replaces the oldest order of the
//! same district. The results are not TPC-C results and must not be compared with TPC-C results.

mod data;
mod transactions;

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use towtank_load::rng::Random;

use crate::kernel::{Failed, Threaded, Work};
use transactions::Kind;

/// Number of transactions of each kind in a deck (100 transactions in random order). Every complete deck therefore has
/// exactly this mix.
const DECK: [(Kind, usize); 5] = [
    (Kind::NewOrder, 45),
    (Kind::Payment, 43),
    (Kind::Status, 4),
    (Kind::Delivery, 4),
    (Kind::StockLevel, 4),
];

/// Sums over all transactions that were executed. The content of the database must agree with them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) transactions: i64,
    pub(crate) rolled_back: i64,
    pub(crate) quantity: i64,
    pub(crate) paid: i64,
    pub(crate) orders: i64,
    pub(crate) delivered: i64,
}

/// Location of the database, in memory or on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// The database is in memory and has no log.
    Memory,
    /// The database is in this file. It has a write-ahead log that is synced to disk at each commit.
    Disk(PathBuf),
}

/// The work of one thread: a separate database, and the transactions executed on it.
pub struct OrderEntry {
    connection: Connection,
    random: Random,
    deck: Vec<Kind>,
    sums: Sums,
    place: Storage,
}

impl OrderEntry {
    /// Creates the database and its content, which depends only on `seed`.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn new(place: Storage, seed: u64) -> Result<Self, Failed> {
        let connection = match &place {
            Storage::Memory => Connection::open_in_memory(),
            Storage::Disk(path) => Connection::open(path),
        }
        .map_err(|error| failed(&error))?;
        require_own_locks(&connection)?;
        let mut random = Random::from_seed(seed);
        data::create(&connection, &mut random).map_err(|error| failed(&error))?;
        settle(&connection, &place).map_err(|error| failed(&error))?;
        Ok(Self {
            connection,
            random,
            deck: DECK
                .iter()
                .flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count))
                .collect(),
            sums: Sums::default(),
            place,
        })
    }

    /// Executes all transactions of one deck (100 transactions in random order).
    fn deal(&mut self) -> rusqlite::Result<()> {
        for last in (1..self.deck.len()).rev() {
            let other = self.random.below(last as u64 + 1) as usize;
            self.deck.swap(last, other);
        }
        for index in 0..self.deck.len() {
            let kind = self.deck[index];
            transactions::run(kind, &self.connection, &mut self.random, &mut self.sums)?;
            self.sums.transactions += 1;
        }
        if matches!(self.place, Storage::Disk(_)) {
            // A checkpoint of the write-ahead log follows each deck. Every slice then includes the same share of the
            // cost of checkpoints.
            self.connection
                .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        }
        Ok(())
    }
}

fn failed(error: &rusqlite::Error) -> Failed {
    format!("the database failed: {error}")
}

/// Rejects a database library in which all databases share locks. Threads would then wait for each other although each
/// thread has a separate database. See `.cargo/config.toml`.
fn require_own_locks(connection: &Connection) -> Result<(), Failed> {
    let has = |text: &str| {
        let query = "SELECT count(*) FROM pragma_compile_options WHERE compile_options = ?1";
        let count: rusqlite::Result<i64> = connection.query_row(query, [text], |row| row.get(0));
        count.map_err(|error| failed(&error))
    };
    if has("ENABLE_MEMORY_MANAGEMENT")? == 0 && has("DEFAULT_MEMSTATUS=0")? == 1 {
        return Ok(());
    }
    Err(
        "all databases share their locks, since the engine was built without `.cargo/config.toml`: build it in the folder of the repository"
            .to_owned(),
    )
}

/// Sets the durability of commits. It is called only after the database is filled, since filling needs no durability.
fn settle(connection: &Connection, place: &Storage) -> rusqlite::Result<()> {
    if *place == Storage::Memory {
        return Ok(());
    }
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;",
    )
}

impl Work for OrderEntry {
    fn batch(&mut self) -> Result<f64, Failed> {
        self.deal().map_err(|error| failed(&error))?;
        Ok(self.deck.len() as f64)
    }

    /// Checks that every sum in the database agrees with the executed transactions.
    fn check(&mut self) -> Result<(), Failed> {
        let faults = data::faults(&self.connection, &self.sums).map_err(|error| failed(&error))?;
        if faults.is_empty() {
            return Ok(());
        }
        Err(format!(
            "the database has wrong totals: {}",
            faults.join("; ")
        ))
    }
}

/// Returns the two kernels of this module. Databases on disk are created in `folder`.
#[must_use]
pub fn kernels(folder: &Path) -> Vec<Threaded> {
    let folder = folder.to_owned();
    vec![
        Threaded::new("order_entry_memory", |seat| {
            OrderEntry::new(Storage::Memory, seat.number as u64)
        }),
        Threaded::new("order_entry_disk", move |seat| {
            let name = format!("orders-{}-{}.db", seat.threads, seat.number);
            OrderEntry::new(Storage::Disk(folder.join(name)), seat.number as u64)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Folder;

    #[test]
    fn the_deck_has_the_mix() {
        let all: usize = DECK.iter().map(|(_, count)| count).sum();
        assert_eq!(all, 100);
    }

    #[test]
    fn totals_agree_after_many_decks() {
        let mut work = OrderEntry::new(Storage::Memory, 1).expect("a database");
        work.check().expect("at first");
        for _ in 0..30 {
            assert_eq!(work.batch(), Ok(100.0));
        }
        work.check().expect("afterwards");
        let sums = work.sums;
        assert_eq!(sums.transactions, 3000);
        assert_eq!(sums.orders + sums.rolled_back, 1350, "45 % are new orders");
        assert!(sums.rolled_back > 0 && sums.rolled_back < 50, "{sums:?}");
        assert!(sums.delivered > 0 && sums.delivered <= 1200, "{sums:?}");
    }

    #[test]
    fn the_same_seed_does_the_same() {
        let done = |seed| {
            let mut work = OrderEntry::new(Storage::Memory, seed).expect("a database");
            work.batch().expect("a deck");
            work.sums
        };
        assert_eq!(done(7), done(7));
        assert_ne!(done(7), done(8));
    }

    #[test]
    fn the_data_set_keeps_its_size() {
        let mut work = OrderEntry::new(Storage::Memory, 2).expect("a database");
        let count = |work: &OrderEntry, table: &str| -> i64 {
            let query = format!("SELECT count(*) FROM {table}");
            work.connection
                .query_row(&query, [], |row| row.get(0))
                .expect("a count")
        };
        let before = count(&work, "orders");
        for _ in 0..30 {
            work.batch().expect("a deck");
        }
        assert_eq!(count(&work, "orders"), before);
        assert!(count(&work, "history") <= data::HISTORY_KEPT);
        assert!(count(&work, "new_order") <= before);
    }

    #[test]
    fn a_total_that_does_not_agree_is_told() {
        let mut work = OrderEntry::new(Storage::Memory, 3).expect("a database");
        work.connection
            .execute("UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 3", [])
            .expect("a change");
        let failed = work.check().unwrap_err();
        assert!(failed.contains("districts"), "{failed}");
    }

    #[test]
    fn on_disk_commits_are_synced_and_survive() {
        let folder = Folder::new("orders").expect("a folder");
        let path = folder.path().join("orders.db");
        let mut work = OrderEntry::new(Storage::Disk(path.clone()), 4).expect("a database");
        let pragma = |name: &str| -> String {
            let query = format!("SELECT * FROM pragma_{name}");
            work.connection
                .query_row(&query, [], |row| row.get::<_, rusqlite::types::Value>(0))
                .map(|value| format!("{value:?}"))
                .expect("a setting")
        };
        assert_eq!(pragma("journal_mode"), "Text(\"wal\")");
        assert_eq!(pragma("synchronous"), "Integer(2)");
        work.batch().expect("a deck");
        let sums = work.sums;
        drop(work);
        let again = Connection::open(&path).expect("the database");
        assert_eq!(
            data::faults(&again, &sums).expect("sums"),
            Vec::<String>::new()
        );
    }
}
