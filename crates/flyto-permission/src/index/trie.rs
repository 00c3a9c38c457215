//! Rules for commands, as a tree of words.
//!
//! Each node is a list of words that some rule begins with. [`Trie::find`] goes
//! down one node for each word of the command, so thousands of rules cost no more
//! than a few. A word that is not known ends it, and whatever rule that narrows
//! lies below may apply then.
//!
//! [`Trie::find_spread`] is for rules that narrow, and lets options stand between
//! their words:
//!
//! - A word that starts with `-` or `+` is an option, and is skipped.
//! - The one word behind an option of the form `-x` or `--name` may be its value: it is skipped, and
//!   it is compared as well.
//! - A word of the rule that starts with `-` may stand anywhere behind the words before it.
//!
//! Which options take a value is known of no program, so more is found than the
//! program would do (`git --paginate log push` is found by `git push:*`), and never
//! less.

use std::collections::HashMap;

use super::{Hits, Index, Slot};
use crate::{Rule, steps::made};

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
    /// A rule below that asks or denies, the strongest first. Here or further down,
    /// as a place in [`Index`].
    narrowing: Option<u32>,
    /// A child that starts with `-` leads to a rule that asks or denies.
    narrows_options: bool,
}

/// A word of a command, as far as rules compare it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argument<'w> {
    /// The text, where all of it is known.
    pub(crate) text: Option<&'w str>,
    /// What the word surely starts with.
    pub(crate) leading: &'w str,
    /// What it surely ends with.
    pub(crate) trailing: &'w str,
    /// It may become any several words, or none.
    pub(crate) splits: bool,
}

impl Argument<'_> {
    /// Whether a program reads it as an option, or may do so once it is known.
    fn may_be_option(&self) -> bool {
        match self.text {
            Some(text) => text.starts_with(['-', '+']),
            None => self.splits || self.leading.is_empty() || self.leading.starts_with(['-', '+']),
        }
    }

    /// Whether it may become this word, once it is known.
    fn may_be(&self, text: &str) -> bool {
        self.splits || (text.starts_with(self.leading) && text.ends_with(self.trailing))
    }

    /// Whether the word behind it may be its value: `-C` and `--git-dir`, not
    /// `--git-dir=x`.
    fn may_take_value(&self) -> bool {
        match self.text {
            Some(text) => text.starts_with('-') && text != "--" && !text.contains('='),
            None => self.may_be_option(),
        }
    }
}

/// Where a search for spread words stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reached {
    /// The place in [`Trie::nodes`].
    node: usize,
    /// Only options and their values were skipped since the word of this node.
    is_near: bool,
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
    /// `at` is the place of the rule in `rules`. A rule of more words makes a node
    /// for each that is new.
    pub(super) fn add(&mut self, rules: &[Rule], at: u32, words: &[String], is_prefix: bool) {
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let effect = rules[at as usize].effect();
        let mut node = 0;
        for word in words {
            self.note(rules, node, at, effect);
            self.nodes[node].narrows_options |=
                word.starts_with('-') && effect > crate::Verdict::Allow;
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
            made(1);
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

    /// Whether a rule that asks or denies starts with this word.
    pub(super) fn narrows(&self, program: &str) -> bool {
        self.start(program).is_some()
    }

    /// Whether the first word of a rule that asks or denies starts so.
    pub(super) fn narrows_as(&self, start: &str) -> bool {
        let children = self.nodes.first().into_iter().flat_map(|it| &it.children);
        children
            .inspect(|_| made(1))
            .any(|(text, at)| text.starts_with(start) && self.nodes[*at].narrowing.is_some())
    }

    /// Whether any rule for the words of a command asks or denies.
    pub(super) fn narrows_any(&self) -> bool {
        self.nodes.first().is_some_and(|it| it.narrowing.is_some())
    }

    /// The node of a program, where a rule that asks or denies is there or below.
    fn start(&self, program: &str) -> Option<usize> {
        let child = self.nodes.first()?.children.get(program)?;
        self.nodes[*child].narrowing.map(|_| *child)
    }

    /// Rules of the form `words:*` that ask or deny, with options between their
    /// words.
    ///
    /// `names` are the ways to write the program, `rest` are the words behind it.
    /// Only [`Hits::narrowing`] and [`Matched::possible`] are filled in. `n_steps`
    /// counts down by the nodes that are looked at; at none left, what was not
    /// looked at is possible.
    pub(super) fn find_spread<'a, 'w>(
        &'a self,
        index: &'a Index,
        names: &[&str],
        rest: impl Iterator<Item = Argument<'w>>,
        has_more: bool,
        n_steps: &mut usize,
    ) -> Matched<'a> {
        let mut res = Matched::default();
        let rule = |at: u32| &index.rules[at as usize];
        let mut reached: Vec<Reached> = Vec::new();
        for node in names.iter().filter_map(|it| self.start(it)) {
            if reached.iter().all(|it| it.node != node) {
                res.hits.add_narrowing(index, &self.nodes[node].prefix);
                reached.push(Reached { node, is_near: true });
            }
        }
        let Some(program) = reached.first().map(|it| it.node) else { return res };
        let mut may_be_value = false;
        let mut next: Vec<Reached> = Vec::new();
        for word in rest {
            for it in &reached {
                let node = &self.nodes[it.node];
                made(1);
                *n_steps = n_steps.saturating_sub(1 + next.len());
                let child = word.text.and_then(|text| {
                    let may_stand_here = it.is_near || text.starts_with('-');
                    node.children.get(text).filter(|_| may_stand_here)
                });
                if let Some(child) = child.filter(|it| self.nodes[**it].narrowing.is_some()) {
                    res.hits.add_narrowing(index, &self.nodes[*child].prefix);
                    add(&mut next, Reached { node: *child, is_near: true });
                }
                if word.text.is_none() && self.may_go_on(*it, word, n_steps) {
                    res.possible = res.possible.or(node.narrowing.map(rule));
                }
                let is_option = match word.text {
                    Some(_) => word.may_be_option(),
                    None => word.leading.starts_with(['-', '+']),
                };
                let is_near = it.is_near && (is_option || may_be_value);
                if is_near || node.narrows_options {
                    add(&mut next, Reached { is_near, ..*it });
                }
            }
            if *n_steps == 0 {
                res.possible = res.possible.or(self.nodes[program].narrowing.map(rule));
                return res;
            }
            std::mem::swap(&mut reached, &mut next);
            next.clear();
            if reached.is_empty() {
                return res;
            }
            may_be_value = word.may_take_value();
        }
        let open = reached.first().filter(|_| has_more);
        res.possible = res.possible.or(open.and_then(|it| self.nodes[it.node].narrowing.map(rule)));
        res
    }

    /// Whether a word that is not known may be the next word of a rule that
    /// narrows.
    fn may_go_on(&self, reached: Reached, word: Argument<'_>, n_steps: &mut usize) -> bool {
        let node = &self.nodes[reached.node];
        if !reached.is_near && !word.may_be_option() {
            return false;
        }
        made(node.children.len());
        *n_steps = n_steps.saturating_sub(node.children.len());
        node.children.iter().any(|(text, child)| {
            (reached.is_near || text.starts_with('-'))
                && word.may_be(text)
                && self.nodes[*child].narrowing.is_some()
        })
    }
}

/// Adds a place of a search once; one that is near stands for one that is not.
fn add(places: &mut Vec<Reached>, new: Reached) {
    match places.iter_mut().find(|it| it.node == new.node) {
        Some(old) => old.is_near |= new.is_near,
        None => places.push(new),
    }
}
