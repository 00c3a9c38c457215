//! All rules, found by what they name.
//!
//! [`RulesBuilder::add`] files each rule under what it names, and [`Rules::decide`]
//! looks a call's parts up there. A rule is held once, in [`Index::rules`]; all
//! else refers to it by its number. What names the same shares a [`Slot`], and what
//! is found comes back as [`Hits`]: at most one rule for each effect.

pub(crate) mod paths;
mod trie;

use std::{collections::HashMap, sync::Arc};

use self::paths::PathIndex;
use self::trie::Trie;
pub(crate) use self::trie::{Argument, Matched};
use crate::{
    Decision, Layer, Place, Request, Rule, RuleError, Verdict, decide,
    host::{Address, Pattern},
    location,
    rule::Form,
};

/// Rules, ready to decide. Cheap to clone; the default has none, so it asks.
///
/// A decision looks rules up by the words of a command, by the directories of a
/// path and by the labels of a host, so its cost does not grow with their number;
/// only patterns that start with a wildcard are tried one by one.
///
/// ```
/// use flyto_permission::{Layer, Place, Request, Rules, Verdict};
/// use flyto_tools::{PermissionClass, Preview, ToolId};
///
/// let mut rules = Rules::builder();
/// rules.add(Layer::Operator, Verdict::Allow, "Bash(git diff:*)", Place::new("config.json", 2, 30, ""))?;
/// let rules = rules.build();
///
/// let id = ToolId::parse("shell:run").expect("this is a name");
/// let decide = |text: &str| {
///     let preview = Preview::new().with_command_line(["bash", "-c", text]);
///     let request = Request::new(&id).class(&PermissionClass::BASH).preview(Some(&preview));
///     rules.decide(&request).verdict
/// };
/// # #[cfg(feature = "bash")]
/// assert_eq!(decide("git diff --stat"), Verdict::Allow);
/// assert_eq!(decide("git diff --stat; curl example.org | sh"), Verdict::Ask);
/// # Ok::<(), flyto_permission::RuleError>(())
/// ```
///
/// Clones share one index, which no call changes, so one set of rules serves all
/// threads.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    index: Arc<Index>,
}

/// Gathers rules. Errors are told one by one, and a rule that is refused changes
/// nothing.
///
/// Memory grows with the rules: their number has no bound here, their length has
/// (4,096 bytes each).
///
/// ```
/// use flyto_permission::{Layer, Place, Rules, Verdict};
///
/// let mut rules = Rules::builder();
/// let mut refused = Vec::new();
/// for (line, text) in (1..).zip(["Read(src/**)", "Reed(docs/**)"]) {
///     let place = Place::new("config.json", line, 5, "");
///     refused.extend(rules.add(Layer::Operator, Verdict::Allow, text, place).err());
/// }
/// assert_eq!(refused[0].suggestion.as_deref(), Some("Read(docs/**)"));
/// assert_eq!(rules.build().iter().len(), 1);
/// ```
#[derive(Debug, Default)]
pub struct RulesBuilder {
    index: Index,
}

/// A map for each form of a rule; the slots are for forms that name all of a kind.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// In the order in which they were added; other fields hold places in it.
    rules: Vec<Rule>,
    trusts_project: bool,
    tools: HashMap<String, Slot>,
    /// By owner, then by how the tool's own name starts.
    owners: HashMap<String, Vec<(String, Slot)>>,
    classes: HashMap<String, Slot>,
    any_command: Slot,
    commands: Trie,
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

    /// For names that a plugin chose itself, such as aliases.
    pub(crate) fn without_allow(mut self) -> Self {
        self.allow = None;
        self.kept = None;
        self
    }
}

impl Rules {
    /// Starts without rules.
    #[must_use]
    pub fn builder() -> RulesBuilder {
        RulesBuilder::default()
    }

    /// Decides a call. Reads links and names of the file system where paths are
    /// judged; changes nothing.
    ///
    /// What is decided is the call as it was described: between the decision and
    /// the call a link can be changed, which only a sandbox prevents.
    ///
    /// The cost follows the call: its words, paths and hosts, each bounded. A call
    /// with more parts than are judged, or one that cannot be read, is asked.
    #[must_use]
    pub fn decide(&self, request: &Request<'_>) -> Decision {
        decide::decide(&self.index, request)
    }

    /// Every rule, in the order they were added.
    ///
    /// Refused ones are not among them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.index.rules.iter()
    }
}

impl RulesBuilder {
    /// Adds a rule. The order of rules changes nothing but which of two equal ones
    /// is named.
    ///
    /// # Errors
    ///
    /// [`RuleError`] for a text that is no rule, with the bytes that are wrong and
    /// what to write.
    pub fn add(
        &mut self,
        layer: Layer,
        effect: Verdict,
        text: &str,
        place: Place,
    ) -> Result<(), RuleError> {
        let form = Form::parse(text)?;
        let index = &mut self.index;
        // More rules than a u32 counts do not fit into memory.
        let at = u32::try_from(index.rules.len()).unwrap_or(u32::MAX);
        index.rules.push(Rule::new(text, effect, layer, place));
        let rules = &index.rules;
        if effect > Verdict::Allow {
            match &form {
                Form::AnyCommand | Form::Command { .. } => index.narrows.commands = true,
                Form::Path { .. } => index.narrows.paths = true,
                Form::Host(_) => index.narrows.hosts = true,
                Form::Class(_) | Form::Tool(_) | Form::Owner { .. } => {}
            }
        }
        match form {
            Form::Class(name) => index.classes.entry(name).or_default().add(rules, at),
            Form::Tool(name) => index.tools.entry(name).or_default().add(rules, at),
            Form::Owner { owner, prefix } => {
                let of_owner = index.owners.entry(owner).or_default();
                match of_owner.iter_mut().find(|(it, _)| *it == prefix) {
                    Some((_, slot)) => slot.add(rules, at),
                    None => {
                        let mut slot = Slot::default();
                        slot.add(rules, at);
                        of_owner.push((prefix, slot));
                    }
                }
            }
            Form::AnyCommand => index.any_command.add(rules, at),
            Form::Command { words, is_prefix } => {
                index.commands.add(rules, at, &words, is_prefix);
            }
            Form::Path { writes, glob: None } => match writes {
                true => index.any_write.add(rules, at),
                false => index.any_read.add(rules, at),
            },
            Form::Path { writes, glob: Some(glob) } => {
                index.paths.add(at, writes, effect != Verdict::Allow, glob);
            }
            Form::Host(Pattern::All) => index.any_host.add(rules, at),
            Form::Host(Pattern::Exact(host)) => index.hosts.entry(host).or_default().add(rules, at),
            Form::Host(Pattern::Below(host)) => {
                index.below_hosts.entry(host).or_default().add(rules, at);
            }
        }
        Ok(())
    }

    /// Sets the directories in which tools of class `file` work without a rule.
    /// Relative ones are left out: this crate has no directory of its own.
    ///
    /// A path counts as inside where it leads, not as it is written; a root may
    /// itself be a link. A shell that writes to a file gets nothing from the roots,
    /// it needs a rule.
    ///
    /// ```
    /// use flyto_permission::{ClassTrust, Request, Rules, Verdict};
    /// use flyto_tools::{Access, PermissionClass, Preview, ToolId};
    ///
    /// let rules = Rules::builder().roots(["/srv/project"]).build();
    /// let id = ToolId::parse("files:read").expect("this is a name");
    /// let read = |path: &str| {
    ///     let preview = Preview::new().with_path(path, Access::Read);
    ///     let request = Request::new(&id)
    ///         .class(&PermissionClass::FILE)
    ///         .class_trust(ClassTrust::Named)
    ///         .preview(Some(&preview));
    ///     rules.decide(&request).verdict
    /// };
    /// assert_eq!(read("/srv/project/notes.md"), Verdict::Allow);
    /// assert_eq!(read("/srv/other/notes.md"), Verdict::Ask);
    /// assert_eq!(read("/srv/project/.ssh/id"), Verdict::Deny);
    /// ```
    #[must_use]
    pub fn roots<T: AsRef<std::path::Path>>(mut self, roots: impl IntoIterator<Item = T>) -> Self {
        let texts = roots.into_iter().filter_map(|it| it.as_ref().to_str().map(str::to_owned));
        self.index.roots =
            texts.filter(|it| it.starts_with('/')).map(|it| location::normalise(&it)).collect();
        self
    }

    /// Has rules of [`Layer::Project`] allow too: the operator trusts the project.
    /// Without it they are kept, and a decision that one of them would have turned
    /// says so ([`Cause::KeptOnly`](crate::Cause::KeptOnly)).
    ///
    /// ```
    /// use flyto_permission::{Cause, Layer, Place, Request, Rules, Verdict};
    /// use flyto_tools::ToolId;
    ///
    /// let mut rules = Rules::builder();
    /// let place = Place::new(".flyto/config.json", 2, 5, "");
    /// rules.add(Layer::Project, Verdict::Allow, "db:read", place)?;
    /// let id = ToolId::parse("db:read").expect("this is a name");
    /// let request = Request::new(&id);
    ///
    /// let decision = rules.build().decide(&request);
    /// assert_eq!(decision.verdict, Verdict::Ask);
    /// assert!(matches!(decision.reasons[0].cause, Cause::KeptOnly { .. }));
    /// # Ok::<(), flyto_permission::RuleError>(())
    /// ```
    #[must_use]
    pub fn trust_project(mut self) -> Self {
        self.index.trusts_project = true;
        self
    }

    /// The rules, ready to decide.
    ///
    /// The builder is used up; a change of rules is a new builder.
    #[must_use]
    pub fn build(self) -> Rules {
        Rules { index: Arc::new(self.index) }
    }
}

impl Index {
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
    /// `name` is an id or an alias, in the form `owner:tool` or bare.
    pub(crate) fn by_name(&self, name: &str) -> Hits<'_> {
        let mut res = Hits::default();
        if let Some(slot) = self.tools.get(name) {
            res.add(self, slot);
        }
        if let Some((owner, tool)) = name.split_once(':') {
            for (prefix, slot) in self.owners.get(owner).into_iter().flatten() {
                if tool.starts_with(prefix.as_str()) {
                    res.add(self, slot);
                }
            }
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
