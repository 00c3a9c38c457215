//! Which composites call which: whether a tool calls itself over others, and how many are above each other.

use std::collections::{BTreeMap, BTreeSet};

use super::MAX_COMPOSITE_DEPTH;

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

/// How many composites are above each other on the longest way over a tool, up to one more than may be.
pub(crate) fn depth(calls: &Calls, name: &str) -> usize {
    let below = levels(name, |at| {
        let called = calls.get(at).into_iter().flatten().map(String::as_str);
        called.filter(|it| calls.contains_key(*it)).collect()
    });
    let above = levels(name, |at| {
        let callers = calls.iter().filter(|(_, tools)| tools.iter().any(|it| it == at));
        callers.map(|it| it.0.as_str()).collect()
    });
    // The tool itself is in both.
    below + above - 1
}

/// How many steps the longest way from a tool has, that one included.
fn levels<'a>(name: &'a str, next: impl Fn(&str) -> Vec<&'a str>) -> usize {
    let mut level = BTreeSet::from([name]);
    let mut res = 0;
    // A cycle elsewhere has ways without end.
    while !level.is_empty() && res <= MAX_COMPOSITE_DEPTH {
        res += 1;
        level = level.into_iter().flat_map(&next).collect();
    }
    res
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

    #[test]
    fn the_depth_is_that_of_the_longest_way() {
        let calls = calls(&[("a", "b"), ("b", "c"), ("b", "leaf"), ("c", "leaf"), ("x", "x")]);
        let depths = ["a", "b", "c", "x"].map(|it| depth(&calls, it));
        assert_eq!(depths[..3], [3, 3, 3]);
        assert!(depths[3] > MAX_COMPOSITE_DEPTH);
    }
}
