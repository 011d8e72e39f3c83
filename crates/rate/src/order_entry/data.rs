//! The content of the order database: tables, rows and invariants.

use rusqlite::{Connection, params};
use towtank_load::rng::Random;

use super::Sums;

pub(super) const DISTRICTS: i64 = 10;
pub(super) const CUSTOMERS: i64 = 300;
pub(super) const ITEMS: i64 = 2000;
/// Number of orders that each district keeps. A new order replaces the oldest order of the district.
pub(super) const ORDERS_KEPT: i64 = 100;
pub(super) const HISTORY_KEPT: i64 = 2000;
/// Number of different last names of customers. In each district, three customers share each name.
pub(super) const NAMES: i64 = 100;
/// Difference between the keys of orders with the same number in consecutive districts.
pub(super) const DISTRICT_KEYS: i64 = 1 << 32;

/// SQL that creates the tables of the order database. Amounts of money are in cents.
const TABLES: &str = "
CREATE TABLE warehouse (w_id INTEGER PRIMARY KEY, w_name TEXT, w_tax INTEGER, w_ytd INTEGER);
CREATE TABLE district (d_id INTEGER PRIMARY KEY, d_name TEXT, d_tax INTEGER, d_ytd INTEGER, d_next INTEGER);
CREATE TABLE customer (c_id INTEGER PRIMARY KEY, c_district INTEGER, c_name INTEGER, c_first TEXT, c_credit TEXT,
  c_discount INTEGER, c_balance INTEGER, c_paid INTEGER, c_payments INTEGER, c_data TEXT);
CREATE INDEX customer_name ON customer (c_district, c_name, c_first);
CREATE TABLE item (i_id INTEGER PRIMARY KEY, i_name TEXT, i_price INTEGER, i_data TEXT);
CREATE TABLE stock (s_item INTEGER PRIMARY KEY, s_quantity INTEGER, s_sold INTEGER, s_orders INTEGER, s_data TEXT);
CREATE TABLE orders (o_id INTEGER PRIMARY KEY, o_customer INTEGER, o_carrier INTEGER, o_lines INTEGER);
CREATE INDEX orders_customer ON orders (o_customer, o_id);
CREATE TABLE new_order (n_order INTEGER PRIMARY KEY);
CREATE TABLE order_line (l_order INTEGER, l_number INTEGER, l_item INTEGER, l_quantity INTEGER, l_amount INTEGER,
  l_delivered INTEGER, l_info TEXT, PRIMARY KEY (l_order, l_number)) WITHOUT ROWID;
CREATE TABLE history (h_id INTEGER PRIMARY KEY, h_customer INTEGER, h_amount INTEGER, h_data TEXT);
";

fn letters(random: &mut Random, length: usize) -> String {
    (0..length)
        .map(|_| char::from(b'a' + random.below(26) as u8))
        .collect()
}

/// Returns a random integer from 1 to `most`.
pub(super) fn one_to(random: &mut Random, most: i64) -> i64 {
    random.below(most as u64) as i64 + 1
}

/// Creates and fills the tables of the order database.
pub(super) fn create(connection: &Connection, random: &mut Random) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA synchronous = OFF; BEGIN")?;
    connection.execute_batch(TABLES)?;
    let name = letters(random, 10);
    connection.execute("INSERT INTO warehouse VALUES (1, ?1, 7, 0)", [name])?;
    for item in 1..=ITEMS {
        create_item(connection, random, item)?;
    }
    for district in 1..=DISTRICTS {
        let row = params![
            district,
            letters(random, 10),
            one_to(random, 20),
            ORDERS_KEPT + 1
        ];
        connection.execute("INSERT INTO district VALUES (?1, ?2, ?3, 0, ?4)", row)?;
        for customer in 1..=CUSTOMERS {
            create_customer(connection, random, district, customer)?;
        }
        for order in 1..=ORDERS_KEPT {
            create_order(connection, random, district, order)?;
        }
    }
    connection.execute_batch("COMMIT")
}

fn create_item(connection: &Connection, random: &mut Random, item: i64) -> rusqlite::Result<()> {
    let price = 99 + one_to(random, 9901);
    let row = params![item, letters(random, 20), price, letters(random, 40)];
    connection
        .prepare_cached("INSERT INTO item VALUES (?1, ?2, ?3, ?4)")?
        .execute(row)?;
    let row = params![item, 9 + one_to(random, 91), letters(random, 60)];
    connection
        .prepare_cached("INSERT INTO stock VALUES (?1, ?2, 0, 0, ?3)")?
        .execute(row)?;
    Ok(())
}

fn create_customer(
    connection: &Connection,
    random: &mut Random,
    district: i64,
    customer: i64,
) -> rusqlite::Result<()> {
    let row = params![
        customer_key(district, customer),
        district,
        customer % NAMES,
        letters(random, 12),
        if random.below(10) == 0 { "BC" } else { "GC" },
        random.below(50) as i64,
        letters(random, 250),
    ];
    let sql = "INSERT INTO customer VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, ?7)";
    connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

fn create_order(
    connection: &Connection,
    random: &mut Random,
    district: i64,
    order: i64,
) -> rusqlite::Result<()> {
    let (key, lines) = (order_key(district, order), 4 + one_to(random, 11));
    let customer = customer_key(district, one_to(random, CUSTOMERS));
    connection
        .prepare_cached("INSERT INTO orders VALUES (?1, ?2, NULL, ?3)")?
        .execute(params![key, customer, lines])?;
    connection
        .prepare_cached("INSERT INTO new_order VALUES (?1)")?
        .execute([key])?;
    for number in 1..=lines {
        let row = params![key, number, one_to(random, ITEMS), letters(random, 24)];
        connection
            .prepare_cached("INSERT INTO order_line VALUES (?1, ?2, ?3, 5, 0, 0, ?4)")?
            .execute(row)?;
    }
    Ok(())
}

/// Returns the key of the customer with a given number in a district.
pub(super) fn customer_key(district: i64, customer: i64) -> i64 {
    district * 10_000 + customer
}

/// Returns the key of the order with a given number in a district.
pub(super) fn order_key(district: i64, order: i64) -> i64 {
    district * DISTRICT_KEYS + order
}

/// Invariants of the order database: name, SQL query, and required result of the query.
fn rules(sums: &Sums) -> [(&'static str, &'static str, i64); 7] {
    [
        (
            "paid to the warehouse",
            "SELECT sum(w_ytd) FROM warehouse",
            sums.paid,
        ),
        (
            "paid to the districts",
            "SELECT sum(d_ytd) FROM district",
            sums.paid,
        ),
        (
            "paid by customers",
            "SELECT sum(c_paid) FROM customer",
            sums.paid,
        ),
        (
            "sold from stock",
            "SELECT sum(s_sold) FROM stock",
            sums.quantity,
        ),
        (
            "orders taken",
            "SELECT sum(d_next - 1) FROM district",
            sums.orders + DISTRICTS * ORDERS_KEPT,
        ),
        (
            "lines of orders",
            "SELECT (SELECT sum(o_lines) FROM orders) - (SELECT count(*) FROM order_line)",
            0,
        ),
        (
            "orders that are to be delivered",
            "SELECT (SELECT count(*) FROM orders WHERE o_carrier IS NULL) - (SELECT count(*) FROM new_order)",
            0,
        ),
    ]
}

/// Returns the invariants that the database violates, given the sums over all executed transactions.
pub(super) fn faults(connection: &Connection, sums: &Sums) -> rusqlite::Result<Vec<String>> {
    let mut faults = Vec::new();
    for (what, query, expected) in rules(sums) {
        let got: i64 = connection.query_row(query, [], |row| row.get(0))?;
        if got != expected {
            faults.push(format!("{what} must be {expected}, got {got}"));
        }
    }
    Ok(faults)
}
