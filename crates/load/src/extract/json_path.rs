//! Selects values of JSON documents by the subset of `JSONPath` (RFC 9535) that plans use: `$`, `.name`, `['name']`,
//! `[n]`, `[-n]`, `[*]`, `..name`.

use serde_json::Value;

/// A parsed `JSONPath` expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath {
    text: Box<str>,
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Name(String),
    Index(i64),
    Every,
    Descendant(String),
}

impl JsonPath {
    /// Parses a `JSONPath` expression.
    ///
    /// # Errors
    /// Describes the violated syntax rule and its position in the expression.
    pub fn parse(expression: &str) -> Result<Self, String> {
        let wrong = |at: usize| {
            format!(
                "must be a path of $, .name, ['name'], [n], [-n], [*] and ..name, got {expression:?} (at character {})",
                at + 1
            )
        };
        let mut rest = expression.strip_prefix('$').ok_or_else(|| wrong(0))?;
        let mut segments = Vec::new();
        while !rest.is_empty() {
            let at = expression.len() - rest.len();
            let (segment, behind) = parse_segment(rest).ok_or_else(|| wrong(at))?;
            segments.push(segment);
            rest = behind;
        }
        Ok(Self {
            text: expression.into(),
            segments,
        })
    }

    /// Returns the expression as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns all values that the path selects, in document order; `None` if there are more than `at_most`. The same
    /// value may be selected several times: `$..a..a` selects an inner `a` once for each `a` that contains it.
    #[must_use]
    pub fn select<'a>(&self, root: &'a Value, at_most: usize) -> Option<Vec<&'a Value>> {
        let mut nodes = vec![root];
        for segment in &self.segments {
            let mut next = Vec::with_capacity(nodes.len());
            for node in nodes {
                segment.follow(node, &mut next);
                if next.len() > at_most {
                    return None;
                }
            }
            nodes = next;
        }
        Some(nodes)
    }
}

impl Segment {
    fn follow<'a>(&self, node: &'a Value, found: &mut Vec<&'a Value>) {
        match (self, node) {
            (Self::Name(name), Value::Object(map)) => found.extend(map.get(name)),
            (Self::Index(index), Value::Array(items)) => {
                let place = if *index < 0 {
                    *index + items.len() as i64
                } else {
                    *index
                };
                found.extend(
                    usize::try_from(place)
                        .ok()
                        .and_then(|place| items.get(place)),
                );
            }
            (Self::Every, Value::Array(items)) => found.extend(items),
            (Self::Every, Value::Object(map)) => found.extend(map.values()),
            (Self::Descendant(name), _) => descend(name, node, found),
            _ => {}
        }
    }
}

/// Collects all members called `name` at any depth below a node. The recursion is bounded, since `serde_json` refuses
/// documents nested deeper than 128 levels.
fn descend<'a>(name: &str, node: &'a Value, found: &mut Vec<&'a Value>) {
    match node {
        Value::Object(map) => {
            found.extend(map.get(name));
            map.values().for_each(|child| descend(name, child, found));
        }
        Value::Array(items) => items.iter().for_each(|child| descend(name, child, found)),
        _ => {}
    }
}

fn parse_segment(text: &str) -> Option<(Segment, &str)> {
    if let Some(behind) = text.strip_prefix("..") {
        let (name, rest) = split_name(behind)?;
        return Some((Segment::Descendant(name.to_owned()), rest));
    }
    if let Some(behind) = text.strip_prefix('.') {
        if let Some(rest) = behind.strip_prefix('*') {
            return Some((Segment::Every, rest));
        }
        let (name, rest) = split_name(behind)?;
        return Some((Segment::Name(name.to_owned()), rest));
    }
    let inside = text.strip_prefix('[')?;
    if let Some(rest) = inside.strip_prefix("*]") {
        return Some((Segment::Every, rest));
    }
    for quote in ['\'', '"'] {
        if let Some(quoted) = inside.strip_prefix(quote) {
            let (name, behind) = quoted.split_once(quote)?;
            return Some((Segment::Name(name.to_owned()), behind.strip_prefix(']')?));
        }
    }
    let (number, rest) = inside.split_once(']')?;
    Some((Segment::Index(number.parse().ok()?), rest))
}

fn split_name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let plain = !name.is_empty()
        && !name.contains(|letter: char| letter.is_whitespace() || "]'\"*?@()".contains(letter));
    plain.then_some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn select(expression: &str) -> Vec<Value> {
        let document = json!({
            "objects": [{"id": 1, "name": "a"}, {"id": 2, "in": {"id": 3}}],
            "cmis:name": "x", "a b": true
        });
        JsonPath::parse(expression)
            .expect("parses")
            .select(&document, 100)
            .expect("few values")
            .into_iter()
            .cloned()
            .collect()
    }

    #[test]
    fn every_form_selects() {
        assert_eq!(select("$.objects[0].id"), [json!(1)]);
        assert_eq!(select("$.objects[-1].in.id"), [json!(3)]);
        assert_eq!(select("$.objects[*].id"), [json!(1), json!(2)]);
        assert_eq!(select("$['objects'][1]['id']"), [json!(2)]);
        assert_eq!(select("$[\"a b\"]"), [json!(true)]);
        assert_eq!(select("$..id"), [json!(1), json!(2), json!(3)]);
        assert_eq!(select("$.cmis:name"), [json!("x")]);
        assert_eq!(select("$").len(), 1);
    }

    #[test]
    fn what_is_not_there_selects_nothing() {
        for expression in [
            "$.none",
            "$.objects[2]",
            "$.objects[-3]",
            "$.objects.id",
            "$..none",
        ] {
            assert!(select(expression).is_empty(), "{expression}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused_with_its_place() {
        for (expression, character) in [
            ("", 1),
            ("objects", 1),
            ("$.", 2),
            ("$..", 2),
            ("$[", 2),
            ("$[x]", 2),
            ("$['a'", 2),
            ("$.a[?(@.b)]", 4),
            ("$.a.b[x]", 6),
            ("$x", 2),
        ] {
            let message = JsonPath::parse(expression).expect_err(expression);
            let place = format!("(at character {character})");
            assert!(message.ends_with(&place), "{message}");
        }
    }

    #[test]
    fn values_found_again_and_again_are_too_many_at_some_point() {
        let nested = (0..100).fold(json!(1), |inside, _| json!({"a": inside}));
        let count = |expression: &str| {
            let path = JsonPath::parse(expression).expect("parses");
            path.select(&nested, 5_000).map(|found| found.len())
        };
        assert_eq!(count("$..a"), Some(100));
        // With 100 nested elements `a`, `$..a..a` selects each element once for every element that contains it: 100 *
        // 99 / 2 = 4,950 values. The path `$..a..a..a` would select 100 * 99 * 98 / 6 = 161,700 values.
        assert_eq!(count("$..a..a"), Some(4_950));
        assert_eq!(count("$..a..a..a"), None);
    }
}
