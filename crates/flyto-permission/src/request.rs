//! A call that wants to run.
//!
//! A [`Request`] borrows all that a host knows of a call and is made for one
//! decision. What it leaves out is taken in the careful sense: a class that is not
//! set is [`PermissionClass::UNDECLARED`], and of a call without a preview nothing
//! is known of what it touches.

use std::path::Path;

use flyto_tools::{PermissionClass, Preview, ToolId};
use serde_json::Value;

/// Whether the class that a tool declares can be believed.
///
/// It changes what is allowed and never what a rule denies: names and classes that
/// a plugin declares count for rules that ask or deny in either case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ClassTrust {
    /// The tool is part of the host, or the operator named the plugin that declares
    /// it.
    Named,
    /// A plugin that the operator did not name declares it: `readonly`, `file` and
    /// `webfetch` are then judged as `bash`, because only the plugin says that it
    /// does no more than that.
    #[default]
    Unnamed,
}

/// A call, as far as a decision needs to know it.
///
/// Defaults are the careful ones: no class, no trust, nothing known of what the
/// call touches.
///
/// ```
/// use flyto_permission::{ClassTrust, Request, Rules, Verdict};
/// use flyto_tools::{PermissionClass, ToolId};
///
/// let id = ToolId::parse("clock")?;
/// let request =
///     Request::new(&id).class(&PermissionClass::READONLY).class_trust(ClassTrust::Named);
/// assert_eq!(Rules::default().decide(&request).verdict, Verdict::Allow);
/// # Ok::<(), flyto_tools::InvalidName>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The tool. Rules name it as `plugin:tool`, or by its bare name where it has
    /// no owner.
    pub id: &'a ToolId,
    /// Its further names. Rules that allow count them only where the class is
    /// trusted too: a plugin chooses its aliases itself.
    pub aliases: &'a [String],
    /// The name that a model calls it by, where that is neither the id nor an alias
    /// ([`Entry::wire_name`](flyto_tools::Entry::wire_name)). Rules name it like an alias.
    pub wire_name: Option<&'a str>,
    /// Whether a server offers the tool. Rules that allow and are written as
    /// `mcp__server__tool` hold for such tools alone, whatever plugin has the name of
    /// the server.
    pub of_server: bool,
    /// Which check applies. As the tool declares it;
    /// [`class_trust`](Self::class_trust) says whether that holds.
    pub class: &'a PermissionClass,
    /// Whether that class can be believed.
    pub class_trust: ClassTrust,
    /// The input. Only rules that ask or deny are compared with it.
    pub input: Option<&'a Value>,
    /// What the call would touch, from
    /// [`Tool::preview`](flyto_tools::Tool::preview). Its `command_line` decides
    /// for the class `bash`, its `paths` for `file`, its `urls` for `webfetch`;
    /// rules that ask or deny hold for all of them, whatever the class.
    pub preview: Option<&'a Preview>,
    /// Whether the command line is the same for every call: no word of it comes
    /// from the input. A rule that allows the tool then answers for what its author
    /// wrote, also where a part cannot be told before it runs.
    pub is_fixed: bool,
    /// The home directory, for `~`. It is that of the user whose files the call
    /// would touch. The environment is not read for it.
    pub home: Option<&'a Path>,
    /// The directory that is worked in. Relative patterns of rules start there, and
    /// relative paths of a call whose preview names no directory of its own
    /// ([`Preview::working_dir`](flyto_tools::Preview)). Rules that ask or deny start at that
    /// one as well.
    pub working_dir: Option<&'a Path>,
}

static UNDECLARED: PermissionClass = PermissionClass::UNDECLARED;

impl<'a> Request<'a> {
    /// A call of this tool.
    ///
    /// Every setter below adds knowledge; none of them is needed for a decision.
    #[must_use]
    pub fn new(id: &'a ToolId) -> Self {
        Self {
            id,
            aliases: &[],
            wire_name: None,
            of_server: false,
            class: &UNDECLARED,
            class_trust: ClassTrust::Unnamed,
            input: None,
            preview: None,
            is_fixed: false,
            home: None,
            working_dir: None,
        }
    }

    /// Sets the further names of the tool.
    #[must_use]
    pub fn aliases(mut self, aliases: &'a [String]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Sets the name that a model calls the tool by.
    #[must_use]
    pub fn wire_name(mut self, name: &'a str) -> Self {
        self.wire_name = Some(name);
        self
    }

    /// Sets whether a server offers the tool; none does unless set.
    ///
    /// ```
    /// use flyto_permission::{Layer, Place, Request, Rules, Verdict};
    /// use flyto_tools::ToolId;
    ///
    /// let mut rules = Rules::builder();
    /// rules.add(Layer::Operator, Verdict::Allow, "mcp__wiki__*", Place::default())?;
    /// let rules = rules.build();
    /// let id = ToolId::parse("wiki:read").expect("this is a name");
    /// let verdict = |of_server| rules.decide(&Request::new(&id).of_server(of_server)).verdict;
    /// assert_eq!([verdict(true), verdict(false)], [Verdict::Allow, Verdict::Ask]);
    /// # Ok::<(), flyto_permission::RuleError>(())
    /// ```
    #[must_use]
    pub fn of_server(mut self, of_server: bool) -> Self {
        self.of_server = of_server;
        self
    }

    /// Sets which check applies.
    #[must_use]
    pub fn class(mut self, class: &'a PermissionClass) -> Self {
        self.class = class;
        self
    }

    /// Sets whether the class can be believed.
    ///
    /// A host gives [`ClassTrust::Named`] to its own tools and to those of plugins
    /// that its operator named.
    #[must_use]
    pub fn class_trust(mut self, trust: ClassTrust) -> Self {
        self.class_trust = trust;
        self
    }

    /// Sets the input. For rules that ask or deny, each text in it may be a path or
    /// an address, at any depth, and a text or a list of texts under `command`,
    /// `cmd` or `script` a command line. Of more than 4,096 values the rest is
    /// asked where such a rule could hold for it.
    #[must_use]
    pub fn input(mut self, input: &'a Value) -> Self {
        self.input = Some(input);
        self
    }

    /// Sets what the call would touch.
    ///
    /// `None` is a tool that has no preview, or one that could not be made.
    #[must_use]
    pub fn preview(mut self, preview: Option<&'a Preview>) -> Self {
        self.preview = preview;
        self
    }

    /// Sets whether the command line is the same for every call; it is not unless
    /// set.
    ///
    /// ```
    /// use flyto_permission::{Layer, Place, Request, Rules, Verdict};
    /// use flyto_tools::{PermissionClass, Preview, ToolId};
    ///
    /// let mut rules = Rules::builder();
    /// rules.add(Layer::Operator, Verdict::Allow, "notes:add", Place::default())?;
    /// rules.add(Layer::Operator, Verdict::Deny, "Bash(rm:*)", Place::default())?;
    /// let rules = rules.build();
    ///
    /// let id = ToolId::parse("notes:add").expect("this is a name");
    /// let verdict = |text: &str, is_fixed| {
    ///     let preview = Preview::new().with_command_line(["sh", "-c", text]);
    ///     let request = Request::new(&id).class(&PermissionClass::BASH).preview(Some(&preview));
    ///     rules.decide(&request.fixed(is_fixed)).verdict
    /// };
    /// # #[cfg(feature = "bash")] {
    /// assert_eq!(verdict("cat >>$NOTES", false), Verdict::Ask);
    /// assert_eq!(verdict("cat >>$NOTES", true), Verdict::Allow);
    /// assert_eq!(verdict("rm $NOTES", true), Verdict::Deny);
    /// # }
    /// # Ok::<(), flyto_permission::RuleError>(())
    /// ```
    #[must_use]
    pub fn fixed(mut self, is_fixed: bool) -> Self {
        self.is_fixed = is_fixed;
        self
    }

    /// Sets the home directory. Without one, `~` leads nowhere: such a path is
    /// asked. It has to be absolute and UTF-8 text, else it counts as not known.
    #[must_use]
    pub fn home(mut self, home: &'a Path) -> Self {
        self.home = Some(home);
        self
    }

    /// Sets the directory of relative patterns, and of relative paths where the
    /// preview names none. It has to be absolute and UTF-8 text, else it counts as
    /// not known: relative paths are asked, and relative patterns that allow hold
    /// in the roots alone.
    #[must_use]
    pub fn working_dir(mut self, dir: &'a Path) -> Self {
        self.working_dir = Some(dir);
        self
    }

    /// Where `~` leads; `None` as [`home`](Self::home) says.
    pub(crate) fn home_text(&self) -> Option<&'a str> {
        self.home.and_then(Path::to_str).filter(|it| it.starts_with('/'))
    }

    /// Where relative paths of the call start: of the preview, else of the host; `None` as
    /// [`working_dir`](Self::working_dir) says. A preview whose directory is
    /// relative hides that of the host: where such a program would start is not
    /// known.
    pub(crate) fn program_dir_text(&self) -> Option<&'a str> {
        match self.preview.and_then(|it| it.working_dir.as_deref()) {
            Some(text) => Some(text).filter(|it| it.starts_with('/')),
            None => self.working_dir_text(),
        }
    }

    /// Where relative patterns start: of the host alone, since the author of a tool
    /// chooses where its program starts.
    pub(crate) fn working_dir_text(&self) -> Option<&'a str> {
        self.working_dir.and_then(Path::to_str).filter(|it| it.starts_with('/'))
    }

    /// The class as it is judged.
    ///
    /// Never laxer than the class that was declared.
    pub(crate) fn effective_class(&self) -> &'a PermissionClass {
        static BASH: PermissionClass = PermissionClass::BASH;
        let is_laxer =
            [PermissionClass::READONLY, PermissionClass::FILE, PermissionClass::WEBFETCH]
                .contains(self.class);
        match self.class_trust {
            ClassTrust::Unnamed if is_laxer => &BASH,
            _ => self.class,
        }
    }
}
