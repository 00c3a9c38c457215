//! Where words go, and how they may look there.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use flyto_execenv::Environment;
use serde::Serialize;

use crate::args::{Common, Format, Presets, When};
use crate::stop::Stop;

/// stdout for answers, stderr for everything else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) format: Format,
    /// Nothing but answers and errors.
    pub(crate) quiet: bool,
    /// More than usual. `--quiet` wins.
    pub(crate) verbose: bool,
    pub(crate) stdout: Page,
    pub(crate) stderr: Page,
}

/// What one of the two streams leads to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Page {
    /// A person looks at it now.
    pub(crate) terminal: bool,
    pub(crate) color: bool,
    /// Columns, where there is a terminal.
    pub(crate) width: Option<usize>,
}

impl Screen {
    pub(crate) fn new(common: &Common, env: &Environment) -> Self {
        let color = common.color.unwrap_or_default();
        Self {
            format: common.format.unwrap_or_default(),
            quiet: common.quiet,
            verbose: common.verbose && !common.quiet,
            ..Self::before_parsing(Presets { format: Format::default(), color }, env)
        }
    }

    /// The screen for a command line that cannot be read.
    pub(crate) fn before_parsing(presets: Presets, env: &Environment) -> Self {
        let page = |terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>| {
            let color = match presets.color {
                When::Always => true,
                When::Never => false,
                When::Auto => terminal && env_wants_color(env),
            };
            let width = size.filter(|_| terminal).map(|(width, _)| usize::from(width.0).max(20));
            Page { terminal, color, width }
        };
        let (stdout, stderr) = (io::stdout(), io::stderr());
        Self {
            format: presets.format,
            quiet: false,
            verbose: false,
            stdout: page(stdout.is_terminal(), terminal_size::terminal_size_of(&stdout)),
            stderr: page(stderr.is_terminal(), terminal_size::terminal_size_of(&stderr)),
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Prints a part of the answer.
    pub(crate) fn answer(&self, bytes: impl AsRef<[u8]>) -> Result<(), Stop> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes.as_ref()).and_then(|()| stdout.flush()).map_err(Stop::output)
    }

    /// Prints the answer as the one JSON document.
    pub(crate) fn document(&self, document: &impl Serialize) -> Result<(), Stop> {
        let mut text = serde_json::to_string_pretty(document).map_err(Stop::internal)?;
        text.push('\n');
        self.answer(text)
    }

    /// Prints one of several JSON documents, on a line of its own.
    pub(crate) fn line(&self, document: &impl Serialize) -> Result<(), Stop> {
        let mut text = serde_json::to_string(document).map_err(Stop::internal)?;
        text.push('\n');
        self.answer(text)
    }

    /// Tells the person at the terminal something beside the answer. With `--format json`, stderr
    /// is for errors alone.
    pub(crate) fn note(&self, text: impl fmt::Display) {
        if !self.quiet && !self.is_json() {
            complain(format_args!("{text}\n"));
        }
    }
}

/// Writes to stderr. Where even that is closed, no reader is left.
pub(crate) fn complain(text: impl fmt::Display) {
    let _ = io::stderr().lock().write_all(text.to_string().as_bytes());
}

/// See <https://no-color.org>: any value but the empty one counts.
fn env_wants_color(env: &Environment) -> bool {
    let no_color = env.get("NO_COLOR").is_some_and(|it| !it.is_empty());
    !no_color && env.get("TERM").is_none_or(|it| it != "dumb")
}

/// The styles in use, each for one meaning.
pub(crate) mod look {
    use super::{AnsiColor, Style};

    pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
    pub(crate) const HEAD: Style = Style::new().bold();
    pub(crate) const FAINT: Style = Style::new().dimmed();
    pub(crate) const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
    pub(crate) const HELP: Style = AnsiColor::BrightCyan.on_default().bold();
}

impl Page {
    /// `text` in a style, where this page has colours.
    pub(crate) fn styled(self, style: Style, text: impl fmt::Display) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(env: &[(&str, &str)], expect: bool) {
        assert_eq!(env_wants_color(&env.iter().copied().collect()), expect, "{env:?}");
    }

    #[test]
    fn colours_can_be_refused() {
        check(&[], true);
        check(&[("TERM", "xterm")], true);
        check(&[("NO_COLOR", "")], true);
        check(&[("NO_COLOR", "1")], false);
        check(&[("NO_COLOR", "0")], false);
        check(&[("TERM", "dumb")], false);
    }

    #[test]
    fn a_page_without_colours_has_plain_text() {
        let plain = Page::default();
        assert_eq!(plain.styled(look::NAME, "x"), "x");
        let page = Page { color: true, ..plain };
        assert_eq!(page.styled(look::NAME, "x"), "\u{1b}[36mx\u{1b}[0m");
    }
}
