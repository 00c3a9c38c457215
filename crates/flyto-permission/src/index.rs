//! All rules, found by what they name.
//!
//! [`Index::add`] files each rule under what it names, and a decision looks a
//! call's parts up there. A rule is held once, in [`Index::rules`]; all
//! else refers to it by its number. What names the same shares a [`Slot`], and what
//! is found comes back as [`Hits`]: at most one rule for each effect.

pub(crate) mod paths;
mod trie;

use std::collections::HashMap;

use self::paths::PathIndex;
use self::trie::Trie;
pub(crate) use self::trie::{Argument, Matched};
use crate::{
    Layer, Rule, Verdict,
    host::{Address, Pattern},
    rule::Form,
};

/// A map for each form of a rule; the slots are for forms that name all of a kind.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// In the order in which they were added; other fields hold places in it.
    pub(crate) rules: Vec<Rule>,
    pub(crate) trusts_project: bool,
    tools: Names,
    /// Rules that allow and are written as those of a server.
    tools_of_servers: Names,
    classes: HashMap<String, Slot>,
    any_command: Slot,
    commands: Trie,
    /// First words of rules that ask or deny a program by a path, by the last part of it.
    programs_by_path: HashMap<Box<str>, Vec<Box<str>>>,
    any_read: Slot,
    any_write: Slot,
    pub(crate) paths: PathIndex,
    any_host: Slot,
    hosts: HashMap<String, Slot>,
    /// By what stands behind `*.`.
    below_hosts: HashMap<String, Slot>,
    /// Allowed roots of file tools: as written, and where they lead.
    pub(crate) roots: Vec<String>,
    /// Of what rules ask or deny some: what cannot be read of it is asked then.
    pub(crate) narrows: Narrows,
}

/// What rules ask or deny: whether there is one of each kind.
///
/// Rules for tools and classes are none of them, since the name of a tool hides
/// nothing.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Narrows {
    /// `Bash`, and `Bash(…)`.
    pub(crate) commands: bool,
    /// `Read`, `Edit` and `Write`, with a pattern and without.
    pub(crate) paths: bool,
    /// `WebFetch`, with a host and without.
    pub(crate) hosts: bool,
}

impl Narrows {
    /// Of a part that may be a command, with any path and address in it.
    pub(crate) const ANYTHING: Self = Self { commands: true, paths: true, hosts: true };
    /// Of a part that may be a path.
    pub(crate) const PATHS: Self = Self { commands: false, paths: true, hosts: false };
    /// Of a part that may be an address.
    pub(crate) const HOSTS: Self = Self { commands: false, paths: false, hosts: true };

    /// The kinds of both.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            commands: self.commands || other.commands,
            paths: self.paths || other.paths,
            hosts: self.hosts || other.hosts,
        }
    }

    /// Whether both have a kind in common.
    pub(crate) fn overlaps(self, other: Self) -> bool {
        (self.commands && other.commands)
            || (self.paths && other.paths)
            || (self.hosts && other.hosts)
    }
}

/// Rules that name the same: of each effect and layer, the first.
///
/// At most nine: three effects, and the layers of operator, project and all plugins
/// together.
#[derive(Debug, Default)]
pub(crate) struct Slot(Vec<u32>);

impl Slot {
    fn add(&mut self, rules: &[Rule], new: u32) {
        let same = |at: &u32| {
            let (old, new) = (&rules[*at as usize], &rules[new as usize]);
            old.effect() == new.effect() && rank(old.layer()) == rank(new.layer())
        };
        if !self.0.iter().any(same) {
            self.0.push(new);
        }
    }
}

/// All plugins have one rank: what they say weighs the same.
fn rank(layer: &Layer) -> u8 {
    match layer {
        Layer::Operator => 0,
        Layer::Project => 1,
        Layer::Plugin(_) => 2,
    }
}

/// The strongest rules that name a part, by what follows from them.
///
/// Of several rules with one effect the one of the layer with most say stays, and
/// of one layer the first.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Hits<'a> {
    pub(crate) deny: Option<&'a Rule>,
    pub(crate) ask: Option<&'a Rule>,
    pub(crate) allow: Option<&'a Rule>,
    /// One that would allow, of a layer that only narrows.
    pub(crate) kept: Option<&'a Rule>,
}

impl<'a> Hits<'a> {
    pub(crate) fn add(&mut self, index: &'a Index, slot: &Slot) {
        for at in &slot.0 {
            self.add_rule(index, *at);
        }
    }

    /// `kept` is filled in the place of `allow` where the rule's layer may not
    /// allow.
    pub(crate) fn add_rule(&mut self, index: &'a Index, at: u32) {
        let rule = &index.rules[at as usize];
        let target = match rule.effect() {
            Verdict::Deny => &mut self.deny,
            Verdict::Ask => &mut self.ask,
            Verdict::Allow if index.can_allow(rule) => &mut self.allow,
            Verdict::Allow => &mut self.kept,
        };
        if target.is_none_or(|old| rank(rule.layer()) < rank(old.layer())) {
            *target = Some(rule);
        }
    }

    /// Takes what asks or denies of others, where there is no such rule yet.
    pub(crate) fn narrow(&mut self, other: Self) {
        self.deny = self.deny.or(other.deny);
        self.ask = self.ask.or(other.ask);
    }

    /// Only what asks or denies.
    fn add_narrowing(&mut self, index: &'a Index, slot: &Slot) {
        for at in &slot.0 {
            if index.rules[*at as usize].effect() > Verdict::Allow {
                self.add_rule(index, *at);
            }
        }
    }

    /// The rule that asks or denies.
    ///
    /// A rule that denies goes before one that asks.
    pub(crate) fn narrowing(&self) -> Option<&'a Rule> {
        self.deny.or(self.ask)
    }

    /// Takes the rules of another name of the same tool, where there are none yet.
    pub(crate) fn merge(&mut self, other: Self) {
        self.deny = self.deny.or(other.deny);
        self.ask = self.ask.or(other.ask);
        self.allow = self.allow.or(other.allow);
        self.kept = self.kept.or(other.kept);
    }

    /// For names that a plugin chose itself, such as aliases.
    pub(crate) fn without_allow(mut self) -> Self {
        self.allow = None;
        self.kept = None;
        self
    }
}

/// Rules that name tools.
#[derive(Debug, Default)]
struct Names {
    tools: HashMap<String, Slot>,
    /// By owner, then by how the tool's own name starts.
    owners: HashMap<String, Vec<(String, Slot)>>,
}

impl Names {
    /// Forms of another kind name no tool.
    fn add(&mut self, rules: &[Rule], at: u32, form: Form) {
        match form {
            Form::Tool(name) => self.tools.entry(name).or_default().add(rules, at),
            Form::Owner { owner, prefix } => {
                let of_owner = self.owners.entry(owner).or_default();
                match of_owner.iter_mut().find(|(it, _)| *it == prefix) {
                    Some((_, slot)) => slot.add(rules, at),
                    None => {
                        let mut slot = Slot::default();
                        slot.add(rules, at);
                        of_owner.push((prefix, slot));
                    }
                }
            }
            _ => {}
        }
    }

    fn find<'a>(&'a self, index: &'a Index, name: &str, hits: &mut Hits<'a>) {
        if let Some(slot) = self.tools.get(name) {
            hits.add(index, slot);
        }
        let Some((owner, tool)) = name.split_once(':') else { return };
        for (prefix, slot) in self.owners.get(owner).into_iter().flatten() {
            if tool.starts_with(prefix.as_str()) {
                hits.add(index, slot);
            }
        }
    }
}

impl Index {
    /// Files a rule under what it names.
    pub(crate) fn add(&mut self, rule: Rule, form: Form) {
        // More rules than a u32 counts do not fit into memory.
        let at = u32::try_from(self.rules.len()).unwrap_or(u32::MAX);
        let effect = rule.effect();
        self.rules.push(rule);
        let rules = &self.rules;
        if effect > Verdict::Allow {
            match &form {
                Form::AnyCommand | Form::Command { .. } => self.narrows.commands = true,
                Form::Path { .. } => self.narrows.paths = true,
                Form::Host(_) => self.narrows.hosts = true,
                Form::Class(_) | Form::Tool(_) | Form::Owner { .. } => {}
            }
        }
        match form {
            Form::Class(name) => self.classes.entry(name).or_default().add(rules, at),
            Form::Tool(_) | Form::Owner { .. }
                if effect == Verdict::Allow && rules[at as usize].is_written_for_server() =>
            {
                self.tools_of_servers.add(rules, at, form);
            }
            Form::Tool(_) | Form::Owner { .. } => self.tools.add(rules, at, form),
            Form::AnyCommand => self.any_command.add(rules, at),
            Form::Command { words, is_prefix } => {
                let program = words.first().filter(|_| effect > Verdict::Allow);
                if let Some((_, base)) = program.and_then(|it| it.rsplit_once('/')) {
                    let of_base = self.programs_by_path.entry(base.into()).or_default();
                    // Rules for one program mostly stand together.
                    if of_base.last().is_none_or(|it| **it != *words[0]) {
                        of_base.push(words[0].as_str().into());
                    }
                }
                self.commands.add(rules, at, &words, is_prefix);
            }
            Form::Path { writes, glob: None } => match writes {
                true => self.any_write.add(rules, at),
                false => self.any_read.add(rules, at),
            },
            Form::Path { writes, glob: Some(glob) } => {
                self.paths.add(at, writes, effect != Verdict::Allow, glob);
            }
            Form::Host(Pattern::All) => self.any_host.add(rules, at),
            Form::Host(Pattern::Exact(host)) => self.hosts.entry(host).or_default().add(rules, at),
            Form::Host(Pattern::Below(host)) => {
                self.below_hosts.entry(host).or_default().add(rules, at);
            }
        }
    }

    /// Rules that ask or deny are not asked this: they hold from every layer.
    fn can_allow(&self, rule: &Rule) -> bool {
        match rule.layer() {
            Layer::Operator => true,
            Layer::Project => self.trusts_project,
            Layer::Plugin(_) => false,
        }
    }

    /// Rules that name a tool by its id.
    ///
    /// `name` is an id or an alias, in the form `owner:tool` or bare. `is_of_server`
    /// says that a server offers the tool: a rule that allows `mcp__server__*` allows
    /// no plugin of that name.
    pub(crate) fn by_name(&self, name: &str, is_of_server: bool) -> Hits<'_> {
        let mut res = Hits::default();
        self.tools.find(self, name, &mut res);
        if is_of_server {
            self.tools_of_servers.find(self, name, &mut res);
        }
        res
    }

    /// Rules of the form `class:NAME`.
    pub(crate) fn by_class(&self, class: &str) -> Hits<'_> {
        let mut res = Hits::default();
        if let Some(slot) = self.classes.get(class) {
            res.add(self, slot);
        }
        res
    }

    /// Rules for every command: `Bash`.
    pub(crate) fn any_command(&self) -> Hits<'_> {
        let mut res = Hits::default();
        res.add(self, &self.any_command);
        res
    }

    /// Rules for the words of a command. `None` is a word that is not known.
    ///
    /// `has_more` says that further words follow which are not known.
    pub(crate) fn by_words<'w>(
        &self,
        words: impl Iterator<Item = Option<&'w str>>,
        has_more: bool,
    ) -> Matched<'_> {
        self.commands.find(self, words, has_more)
    }

    /// Rules that ask or deny a program with these words, also with options between
    /// them.
    ///
    /// `names` are the ways to write the program; `n_steps` bounds the search and
    /// counts down.
    pub(crate) fn by_spread_words<'w>(
        &self,
        names: &[&str],
        rest: impl Iterator<Item = Argument<'w>>,
        has_more: bool,
        n_steps: &mut usize,
    ) -> Matched<'_> {
        self.commands.find_spread(self, names, rest, has_more, n_steps)
    }

    /// Whether a rule that asks or denies commands starts with this word.
    pub(crate) fn narrows_program(&self, name: &str) -> bool {
        self.commands.narrows(name)
    }

    /// First words of rules that ask or deny a program by a path that ends so.
    #[cfg(feature = "bash")]
    pub(crate) fn programs_by_path(&self, base: &str) -> impl Iterator<Item = &str> {
        self.programs_by_path.get(base).into_iter().flatten().map(|it| &**it)
    }

    /// Whether a rule that asks or denies commands has a first word that starts so.
    pub(crate) fn narrows_program_as(&self, start: &str) -> bool {
        self.commands.narrows_as(start)
    }

    /// Whether a rule asks or denies commands by their words.
    pub(crate) fn narrows_programs(&self) -> bool {
        self.commands.narrows_any()
    }

    /// Rules for every file.
    ///
    /// `Read` alone, or `Edit` and `Write`.
    pub(crate) fn any_path(&self, writes: bool) -> Hits<'_> {
        let mut res = Hits::default();
        res.add(self, if writes { &self.any_write } else { &self.any_read });
        res
    }

    /// The rule that asks or denies this host by its name, or by one above it. A
    /// rule for every host is none of them.
    pub(crate) fn narrowing_host(&self, host: &str) -> Option<&Rule> {
        let mut res = Hits::default();
        let above =
            host.match_indices('.').filter_map(|(at, _)| self.below_hosts.get(&host[at + 1..]));
        for slot in self.hosts.get(host).into_iter().chain(above) {
            res.add_narrowing(self, slot);
        }
        res.narrowing()
    }

    /// Rules for every host, and those that name this one.
    ///
    /// The first value has the wide ones, `WebFetch` and `*.` patterns; the second
    /// those that spell this host. A look-up for each dot of the name, so the cost
    /// follows its labels.
    pub(crate) fn by_host(&self, address: &Address) -> (Hits<'_>, Hits<'_>) {
        let (mut wide, mut exact) = (Hits::default(), Hits::default());
        wide.add(self, &self.any_host);
        if let Some(slot) = self.hosts.get(&address.host) {
            exact.add(self, slot);
        }
        if !address.is_ip {
            for (at, _) in address.host.match_indices('.') {
                if let Some(slot) = self.below_hosts.get(&address.host[at + 1..]) {
                    wide.add(self, slot);
                }
            }
        }
        (wide, exact)
    }
}
