//! Translates SQL statements with parameters `$n` to the form of MySQL, with a `?` for each parameter.

use crate::operation::parameters;

/// Returns the statement with each parameter `$n` replaced by `?`, and for each `?` the index of its value.
pub(super) fn translated(text: &str) -> (String, Vec<usize>) {
    let (mut query, mut places, mut behind) = (String::with_capacity(text.len()), Vec::new(), 0);
    for (range, number) in parameters(text) {
        query.push_str(&text[behind..range.start]);
        query.push('?');
        places.push(number - 1);
        behind = range.end;
    }
    query.push_str(&text[behind..]);
    (query, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_parameter_becomes_a_place_of_its_value() {
        let (query, places) = translated("update t set a = $2, b = '$1 ' where c = $1 or d = $2");
        assert_eq!(query, "update t set a = ?, b = '$1 ' where c = ? or d = ?");
        assert_eq!(places, [1, 0, 1]);
        assert_eq!(translated("commit"), ("commit".to_owned(), Vec::new()));
        assert_eq!(translated("$1é$12"), ("?é?".to_owned(), vec![0, 11]));
    }
}
