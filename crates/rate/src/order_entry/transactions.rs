//! The five transactions of the order entry workload.

use rusqlite::{Connection, OptionalExtension, Row, params};
use towtank_load::rng::Random;

use super::Sums;
use super::data::{
    CUSTOMERS, DISTRICT_KEYS, DISTRICTS, HISTORY_KEPT, ITEMS, NAMES, ORDERS_KEPT, customer_key,
    one_to, order_key,
};

/// Kinds of transactions of the order entry workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A customer orders five to fifteen items.
    NewOrder,
    /// A customer pays.
    Payment,
    /// The status of the last order of a customer is read.
    Status,
    /// In each district, the oldest order that is not yet delivered is delivered.
    Delivery,
    /// The items of the latest orders whose stock is low are counted.
    StockLevel,
}

/// Executes one transaction, which is either committed or rolled back as a whole.
pub(super) fn run(
    kind: Kind,
    connection: &Connection,
    random: &mut Random,
    sums: &mut Sums,
) -> rusqlite::Result<()> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let keep = match kind {
        Kind::NewOrder => new_order(connection, random, sums)?,
        Kind::Payment => payment(connection, random, sums)?,
        Kind::Status => status(connection, random)?,
        Kind::Delivery => delivery(connection, random, sums)?,
        Kind::StockLevel => stock_level(connection, random)?,
    };
    let end = if keep { "COMMIT" } else { "ROLLBACK" };
    connection.prepare_cached(end)?.execute([])?;
    Ok(())
}

fn number(row: &Row<'_>) -> rusqlite::Result<i64> {
    row.get(0)
}

/// Enters an order. One order in a hundred contains an item that does not exist; this order is rolled back.
fn new_order(
    connection: &Connection,
    random: &mut Random,
    sums: &mut Sums,
) -> rusqlite::Result<bool> {
    let district = one_to(random, DISTRICTS);
    let customer = customer_key(district, one_to(random, CUSTOMERS));
    let lines = 4 + one_to(random, 11);
    let wrong = random.below(100) == 0;
    let tax: i64 = connection
        .prepare_cached("SELECT w_tax FROM warehouse WHERE w_id = 1")?
        .query_row([], number)?;
    let discount: i64 = connection
        .prepare_cached("SELECT c_discount FROM customer WHERE c_id = ?1")?
        .query_row([customer], number)?;
    let order: i64 = connection
        .prepare_cached(
            "UPDATE district SET d_next = d_next + 1 WHERE d_id = ?1 RETURNING d_next - 1",
        )?
        .query_row([district], number)?;
    let key = order_key(district, order);
    connection
        .prepare_cached("INSERT INTO orders VALUES (?1, ?2, NULL, ?3)")?
        .execute(params![key, customer, lines])?;
    connection
        .prepare_cached("INSERT INTO new_order VALUES (?1)")?
        .execute([key])?;
    let mut quantity = 0;
    for line in 1..=lines {
        let item = if wrong && line == lines {
            ITEMS + 1
        } else {
            one_to(random, ITEMS)
        };
        let count = one_to(random, 10);
        if !order_item(connection, key, line, item, count, discount + tax)? {
            sums.rolled_back += 1;
            return Ok(false);
        }
        quantity += count;
    }
    forget(connection, order_key(district, order - ORDERS_KEPT))?;
    sums.quantity += quantity;
    sums.orders += 1;
    Ok(true)
}

/// Adds one item to an order; returns `false` if the item does not exist.
fn order_item(
    connection: &Connection,
    key: i64,
    line: i64,
    item: i64,
    count: i64,
    change: i64,
) -> rusqlite::Result<bool> {
    let price: Option<i64> = connection
        .prepare_cached("SELECT i_price FROM item WHERE i_id = ?1")?
        .query_row([item], number)
        .optional()?;
    let Some(price) = price else {
        return Ok(false);
    };
    let (stock, info): (i64, String) = connection
        .prepare_cached("SELECT s_quantity, substr(s_data, 1, 24) FROM stock WHERE s_item = ?1")?
        .query_row([item], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let left = if stock >= count + 10 {
        stock - count
    } else {
        stock - count + 91
    };
    connection
        .prepare_cached(
            "UPDATE stock SET s_quantity = ?1, s_sold = s_sold + ?2, s_orders = s_orders + 1 WHERE s_item = ?3",
        )?
        .execute([left, count, item])?;
    connection
        .prepare_cached("INSERT INTO order_line VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6)")?
        .execute(params![
            key,
            line,
            item,
            count,
            price * count * (100 + change) / 100,
            info
        ])?;
    Ok(true)
}

/// Deletes the old order that is replaced by a new order.
fn forget(connection: &Connection, key: i64) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM orders WHERE o_id = ?1",
        "DELETE FROM new_order WHERE n_order = ?1",
        "DELETE FROM order_line WHERE l_order = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([key])?;
    }
    Ok(())
}

/// Chooses a customer at random. In six of ten cases, a last name is chosen; of the customers with this name, the
/// middle one is taken. Otherwise a number is chosen.
fn customer(connection: &Connection, random: &mut Random) -> rusqlite::Result<(i64, i64)> {
    let district = one_to(random, DISTRICTS);
    if random.below(10) >= 6 {
        return Ok((district, customer_key(district, one_to(random, CUSTOMERS))));
    }
    let name = random.below(NAMES as u64) as i64;
    let mut statement = connection.prepare_cached(
        "SELECT c_id FROM customer WHERE c_district = ?1 AND c_name = ?2 ORDER BY c_first",
    )?;
    let found = statement
        .query_map([district, name], number)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    Ok((district, found[found.len() / 2]))
}

fn payment(
    connection: &Connection,
    random: &mut Random,
    sums: &mut Sums,
) -> rusqlite::Result<bool> {
    let (district, customer) = customer(connection, random)?;
    let amount = 99 + one_to(random, 499_901);
    connection
        .prepare_cached("UPDATE warehouse SET w_ytd = w_ytd + ?1 WHERE w_id = 1")?
        .execute([amount])?;
    connection
        .prepare_cached("UPDATE district SET d_ytd = d_ytd + ?1 WHERE d_id = ?2")?
        .execute([amount, district])?;
    let credit: String = connection
        .prepare_cached(
            "UPDATE customer SET c_balance = c_balance - ?1, c_paid = c_paid + ?1, c_payments = c_payments + 1
             WHERE c_id = ?2 RETURNING c_credit",
        )?
        .query_row([amount, customer], |row| row.get(0))?;
    if credit == "BC" {
        connection
            .prepare_cached(
                "UPDATE customer SET c_data = substr(?1 || ' ' || ?2 || ' ' || c_data, 1, 250) WHERE c_id = ?2",
            )?
            .execute([amount, customer])?;
    }
    connection
        .prepare_cached("INSERT INTO history VALUES (NULL, ?1, ?2, 'paid at the counter')")?
        .execute([customer, amount])?;
    let newest = connection.last_insert_rowid();
    connection
        .prepare_cached("DELETE FROM history WHERE h_id = ?1")?
        .execute([newest - HISTORY_KEPT])?;
    sums.paid += amount;
    Ok(true)
}

fn status(connection: &Connection, random: &mut Random) -> rusqlite::Result<bool> {
    let (_, customer) = customer(connection, random)?;
    connection
        .prepare_cached("SELECT c_balance, c_first FROM customer WHERE c_id = ?1")?
        .query_row([customer], number)?;
    let order: Option<i64> = connection
        .prepare_cached("SELECT o_id FROM orders WHERE o_customer = ?1 ORDER BY o_id DESC LIMIT 1")?
        .query_row([customer], number)
        .optional()?;
    if let Some(order) = order {
        let mut statement = connection.prepare_cached(
            "SELECT l_item, l_quantity, l_amount, l_delivered FROM order_line WHERE l_order = ?1",
        )?;
        let mut rows = statement.query([order])?;
        while let Some(row) = rows.next()? {
            std::hint::black_box(number(row)?);
        }
    }
    Ok(true)
}

fn delivery(
    connection: &Connection,
    random: &mut Random,
    sums: &mut Sums,
) -> rusqlite::Result<bool> {
    let carrier = one_to(random, 10);
    for district in 1..=DISTRICTS {
        let keys = [district * DISTRICT_KEYS, (district + 1) * DISTRICT_KEYS];
        let oldest: Option<i64> = connection
            .prepare_cached(
                "SELECT n_order FROM new_order WHERE n_order >= ?1 AND n_order < ?2 ORDER BY n_order LIMIT 1",
            )?
            .query_row(keys, number)
            .optional()?;
        let Some(order) = oldest else {
            continue;
        };
        connection
            .prepare_cached("DELETE FROM new_order WHERE n_order = ?1")?
            .execute([order])?;
        let customer: i64 = connection
            .prepare_cached(
                "UPDATE orders SET o_carrier = ?1 WHERE o_id = ?2 RETURNING o_customer",
            )?
            .query_row([carrier, order], number)?;
        connection
            .prepare_cached("UPDATE order_line SET l_delivered = 1 WHERE l_order = ?1")?
            .execute([order])?;
        connection
            .prepare_cached(
                "UPDATE customer SET c_balance = c_balance +
                 (SELECT sum(l_amount) FROM order_line WHERE l_order = ?1) WHERE c_id = ?2",
            )?
            .execute([order, customer])?;
        sums.delivered += 1;
    }
    Ok(true)
}

fn stock_level(connection: &Connection, random: &mut Random) -> rusqlite::Result<bool> {
    let (district, limit) = (one_to(random, DISTRICTS), 9 + one_to(random, 11));
    let next: i64 = connection
        .prepare_cached("SELECT d_next FROM district WHERE d_id = ?1")?
        .query_row([district], number)?;
    let short: i64 = connection
        .prepare_cached(
            "SELECT count(DISTINCT l_item) FROM order_line JOIN stock ON s_item = l_item
             WHERE l_order >= ?1 AND l_order < ?2 AND s_quantity < ?3",
        )?
        .query_row(
            [
                order_key(district, next - 20),
                order_key(district, next),
                limit,
            ],
            number,
        )?;
    std::hint::black_box(short);
    Ok(true)
}
