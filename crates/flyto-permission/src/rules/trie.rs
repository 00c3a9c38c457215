//! Rules for commands, as a tree of words.
//!
//! Each node is a list of words that some rule begins with. A look-up goes down one node for each
//! word of the command, so thousands of rules cost no more than a few. A word that is not known
//! ends it, and whatever rule that narrows lies below may apply then.

use std::collections::HashMap;

use super::{Hits, Index, Slot};
use crate::Rule;

/// The first node is that of no words; there is none without a rule.
#[derive(Debug, Default)]
pub(crate) struct Trie {
    nodes: Vec<Node>,
}

/// `children` are places in [`Trie::nodes`].
#[derive(Debug, Default)]
struct Node {
    children: HashMap<Box<str>, usize>,
    /// Rules that end here and take further words.
    prefix: Slot,
    /// Rules that end here.
    exact: Slot,
    /// A rule below that asks or denies, the strongest first.
    /// Here or further down, as a place in [`Index`].
    narrowing: Option<u32>,
}

/// What the words of a command matched.
///
/// An empty one where the first word is known and no rule begins with it.
#[derive(Debug, Default)]
pub(crate) struct Matched<'a> {
    /// Rules with these words, or with the first of them and any others.
    pub(crate) hits: Hits<'a>,
    /// How many words the longest rule that allows them has.
    pub(crate) n_allowed: usize,
    /// The rule that allows every word exactly.
    pub(crate) exact: Option<&'a Rule>,
    /// A rule that asks or denies, and may match once all words are known.
    pub(crate) possible: Option<&'a Rule>,
}

impl Trie {
    /// `at` is the place of the rule in `rules`. A rule of more words makes a node for each that is
    /// new.
    pub(super) fn add(&mut self, rules: &[Rule], at: u32, words: &[String], is_prefix: bool) {
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let effect = rules[at as usize].effect();
        let mut node = 0;
        for word in words {
            self.note(rules, node, at, effect);
            let n_nodes = self.nodes.len();
            let next = *self.nodes[node].children.entry(word.as_str().into()).or_insert(n_nodes);
            if next == n_nodes {
                self.nodes.push(Node::default());
            }
            node = next;
        }
        self.note(rules, node, at, effect);
        let node = &mut self.nodes[node];
        let slot = if is_prefix { &mut node.prefix } else { &mut node.exact };
        slot.add(rules, at);
    }

    /// Notes a rule that narrows at a node on the way to it.
    fn note(&mut self, rules: &[Rule], node: usize, at: u32, effect: crate::Verdict) {
        let old = &mut self.nodes[node].narrowing;
        let is_stronger = old.is_none_or(|old| rules[old as usize].effect() < effect);
        if effect > crate::Verdict::Allow && is_stronger {
            *old = Some(at);
        }
    }

    /// Goes down word by word; the cost is that of the words, not of the rules.
    pub(super) fn find<'a, 'w>(
        &'a self,
        index: &'a Index,
        words: impl Iterator<Item = Option<&'w str>>,
        has_more: bool,
    ) -> Matched<'a> {
        let mut res = Matched::default();
        let Some(mut node) = self.nodes.first() else { return res };
        let rule = |at: u32| &index.rules[at as usize];
        for (i, word) in words.enumerate() {
            let Some(word) = word else {
                res.possible = node.narrowing.map(rule);
                return res;
            };
            let Some(next) = node.children.get(word) else { return res };
            node = &self.nodes[*next];
            let mut here = Hits::default();
            here.add(index, &node.prefix);
            if here.allow.is_some() {
                res.n_allowed = i + 1;
            }
            res.hits.add(index, &node.prefix);
        }
        if has_more {
            res.possible = node.narrowing.map(rule);
            return res;
        }
        let mut here = Hits::default();
        here.add(index, &node.exact);
        res.exact = here.allow;
        res.hits.add(index, &node.exact);
        res
    }
}
