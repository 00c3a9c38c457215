//! Tools that call each other.

use std::collections::BTreeMap;

/// The tools that the steps of each composite call.
pub(crate) type Calls = BTreeMap<String, Vec<String>>;

/// The names on a way from a tool back to it. Each tool is walked once.
pub(crate) fn cycle(calls: &Calls, name: &str) -> Option<Vec<String>> {
    let mut ways: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut next = vec![name];
    while let Some(at) = next.pop() {
        let way = [ways.get(at).cloned().unwrap_or_default(), vec![at]].concat();
        for tool in calls.get(at).into_iter().flatten() {
            if tool == name {
                return Some([way, vec![name]].concat().into_iter().map(str::to_owned).collect());
            }
            if !ways.contains_key(&**tool) {
                ways.insert(tool, way.clone());
                next.push(tool);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(edges: &[(&str, &str)]) -> Calls {
        let mut res = Calls::new();
        for (from, to) in edges {
            res.entry((*from).to_owned()).or_default().push((*to).to_owned());
        }
        res
    }

    #[test]
    fn a_cycle_is_told_by_its_names() {
        let calls =
            calls(&[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "a"), ("x", "x")]);
        assert_eq!(cycle(&calls, "a").unwrap().join(" "), "a c d a");
        assert_eq!(cycle(&calls, "x").unwrap().join(" "), "x x");
        assert_eq!(cycle(&self::calls(&[("y", "x"), ("x", "x")]), "y"), None);
    }
}
