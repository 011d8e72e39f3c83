//! Data pools: tables from which users take rows as input values. The rows never change; the only shared state of the
//! load threads is the number of the next row of each `unique` pool.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::plan::{Fault, Order, Plan, Pool as PoolPlan};
use crate::rng::{Alias, Random};

/// Rows of one data pool, and the order in which users receive them.
#[derive(Debug)]
pub struct Pool {
    columns: usize,
    /// Values of all rows in sequence, `columns` values per row.
    fields: Vec<Box<[u8]>>,
    deal: Deal,
}

#[derive(Debug)]
enum Deal {
    Random,
    Weighted(Alias),
    Sequential,
    /// Number of the next row, which any user may receive.
    Unique(AtomicU64),
}

impl Pool {
    /// Returns the next row for a user that has taken `draws` rows before; `None` if a unique pool has no row left.
    pub fn draw(
        &self,
        user: u64,
        users_at_most: u64,
        draws: u64,
        random: &mut Random,
    ) -> Option<&[Box<[u8]>]> {
        let rows = self.rows();
        let row = match &self.deal {
            Deal::Random => random.below(rows),
            Deal::Weighted(alias) => alias.draw(random) as u64,
            Deal::Sequential => user.saturating_add(draws.saturating_mul(users_at_most)) % rows,
            // Relaxed ordering is sufficient, since this counter is the only value that changes.
            Deal::Unique(next) => {
                let row = next.fetch_add(1, Ordering::Relaxed);
                if row >= rows {
                    return None;
                }
                row
            }
        };
        let start = row as usize * self.columns;
        Some(&self.fields[start..start + self.columns])
    }

    /// Returns the number of rows, at least 1.
    #[must_use]
    pub fn rows(&self) -> u64 {
        (self.fields.len() / self.columns.max(1)) as u64
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }
}

/// Loads all pools of a plan.
///
/// # Errors
/// Every fault of every pool.
pub fn load(plan: &Plan) -> Result<Vec<Pool>, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut pools = Vec::with_capacity(plan.pools.len());
    for (index, pool) in plan.pools.iter().enumerate() {
        match load_one(pool) {
            Ok(loaded) => pools.push(loaded),
            Err(message) => faults.push(Fault {
                place: format!("pools[{index}]"),
                message,
            }),
        }
    }
    if faults.is_empty() {
        Ok(pools)
    } else {
        Err(faults)
    }
}

fn load_one(pool: &PoolPlan) -> Result<Pool, String> {
    let (columns, rows) = match (&pool.rows, &pool.csv) {
        (Some(rows), _) => (pool.columns.clone(), rows.clone()),
        (None, Some(path)) => read_csv(path)?,
        (None, None) => return Err("must have either `rows` or `csv`".to_owned()),
    };
    if rows.is_empty() || columns.is_empty() {
        return Err("must have at least one row and one column".to_owned());
    }
    if pool.csv.is_some() && !pool.columns.is_empty() && pool.columns != columns {
        return Err(format!(
            "must have the columns {:?}, the file has {columns:?}",
            pool.columns
        ));
    }
    let deal = match pool.order {
        Order::Random => Deal::Random,
        Order::Sequential => Deal::Sequential,
        Order::Unique => Deal::Unique(AtomicU64::new(0)),
        Order::Weighted => Deal::Weighted(Alias::new(&weights(pool, &columns, &rows)?)),
    };
    let count = columns.len();
    let fields = rows
        .into_iter()
        .flatten()
        .map(|field| field.into_bytes().into_boxed_slice())
        .collect();
    Ok(Pool {
        columns: count,
        fields,
        deal,
    })
}

fn read_csv(path: &str) -> Result<(Vec<String>, Vec<Vec<String>>), String> {
    let file = File::open(path).map_err(|error| format!("{path:?} cannot be read: {error}"))?;
    let mut reader = csv::Reader::from_reader(file);
    let wrong = |error: csv::Error| format!("{path:?} is not CSV: {error}");
    let columns = reader
        .headers()
        .map_err(wrong)?
        .iter()
        .map(str::to_owned)
        .collect();
    let rows = reader
        .into_records()
        .map(|record| Ok(record.map_err(wrong)?.iter().map(str::to_owned).collect()));
    Ok((columns, rows.collect::<Result<_, String>>()?))
}

fn weights(pool: &PoolPlan, columns: &[String], rows: &[Vec<String>]) -> Result<Vec<f64>, String> {
    let weights: Vec<f64> = match (&pool.weights, &pool.weight_column) {
        (Some(weights), _) => weights.clone(),
        (None, Some(name)) => {
            let column = columns.iter().position(|column| column == name);
            let column = column.ok_or_else(|| format!("has no column {name:?} for weights"))?;
            let number = |(index, row): (usize, &Vec<String>)| {
                let field = &row[column];
                field.trim().parse().map_err(|_| {
                    format!("row {}: weight must be a number, got {field:?}", index + 1)
                })
            };
            rows.iter()
                .enumerate()
                .map(number)
                .collect::<Result<_, String>>()?
        }
        (None, None) => return Err("must have `weights` or `weight_column`".to_owned()),
    };
    if weights.len() != rows.len() {
        return Err(format!(
            "must have one weight for each of {} rows, got {}",
            rows.len(),
            weights.len()
        ));
    }
    let good = weights
        .iter()
        .all(|weight| weight.is_finite() && *weight >= 0.0)
        && weights.iter().sum::<f64>() > 0.0;
    if good {
        Ok(weights)
    } else {
        Err("must have weights >= 0 with a sum above 0".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(json: &str) -> Pool {
        load_one(&serde_json::from_str(json).expect("a pool")).expect("loads")
    }

    fn first(pool: &Pool, user: u64, draws: u64) -> Option<String> {
        let row = pool.draw(user, 2, draws, &mut Random::from_seed(1))?;
        Some(String::from_utf8_lossy(&row[0]).into_owned())
    }

    #[test]
    fn sequential_deals_rows_by_user_and_starts_again() {
        let pool =
            pool(r#"{"name":"p","columns":["a"],"order":"sequential","rows":[["0"],["1"],["2"]]}"#);
        let dealt: Vec<_> = (0..3)
            .map(|draw| first(&pool, 1, draw).expect("a row"))
            .collect();
        assert_eq!(dealt, ["1", "0", "2"]);
    }

    #[test]
    fn unique_deals_every_row_once_to_whoever_asks_and_then_none() {
        let pool =
            pool(r#"{"name":"p","columns":["a"],"order":"unique","rows":[["0"],["1"],["2"]]}"#);
        assert_eq!(
            [first(&pool, 1, 0), first(&pool, 1, 1), first(&pool, 1, 2)].map(Option::unwrap),
            ["0", "1", "2"]
        );
        assert_eq!([first(&pool, 0, 0), first(&pool, 1, 3)], [None, None]);
    }

    #[test]
    fn csv_with_a_weight_column() {
        let path = std::env::temp_dir().join(format!("towtank-pool-{}.csv", std::process::id()));
        std::fs::write(&path, "term,weight\n\"a,b\",0\nc,2.5\n").expect("writes");
        let text = serde_json::json!({"name": "p", "order": "weighted", "csv": path, "weight_column": "weight"});
        let loaded = pool(&text.to_string());
        std::fs::remove_file(&path).expect("removes");
        assert_eq!((loaded.rows(), loaded.columns()), (2, 2));
        assert!((0..50).all(|draw| first(&loaded, 0, draw).as_deref() == Some("c")));
    }

    #[test]
    fn faults_of_pools_are_told() {
        let fault = |json: &str| {
            load_one(&serde_json::from_str(json).expect("a pool")).expect_err("a fault")
        };
        assert!(
            fault(r#"{"name":"p","order":"random","csv":"/none.csv"}"#).contains("cannot be read")
        );
        let weights = r#"{"name":"p","columns":["a","w"],"order":"weighted","rows":[["x","heavy"]],"weight_column":"w"}"#;
        assert!(fault(weights).contains("must be a number"));
    }
}
