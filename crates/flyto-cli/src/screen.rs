//! Where words go, and how they may look there.

use std::fmt;
use std::io::{self, IsTerminal as _, Read, Write as _};
use std::thread;

use anstyle::{AnsiColor, Style};
use flyto_execenv::Environment;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{QueueSelector, tcflush};
use serde::Serialize;
use tokio::sync::oneshot;

use crate::args::{Common, Format, Presets, When};
use crate::stop::Stop;
use crate::terminal::{Form, Passage, escape};

/// Bytes of a tool's output that are written at a time: 64 KiB, what a pipe holds by default (pipe(7)).
const PIECE_BYTES: usize = 64 * 1024;

/// stdout for answers, stderr for everything else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) format: Format,
    /// Nothing but answers and errors.
    pub(crate) quiet: bool,
    /// More than usual. `--quiet` wins.
    pub(crate) verbose: bool,
    /// Also how long each stage of a call took.
    pub(crate) timed: bool,
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
            verbose: common.verbose > 0 && !common.quiet,
            timed: common.verbose > 1 && !common.quiet,
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
            timed: false,
            stdout: page(stdout.is_terminal(), terminal_size::terminal_size_of(&stdout)),
            stderr: page(stderr.is_terminal(), terminal_size::terminal_size_of(&stderr)),
        }
    }

    /// The screen of a script: pipes, and no options.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        let (stdout, stderr) = (Page::default(), Page::default());
        Self { format: Format::Human, quiet: false, verbose: false, timed: false, stdout, stderr }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Prints a part of the answer, for people.
    pub(crate) fn answer(&self, text: impl AsRef<str>) -> Result<(), Stop> {
        let text = escape(text.as_ref(), self.stdout.form());
        write_stdout(text.as_bytes()).map_err(Stop::output)
    }

    /// Prints what a tool has printed: byte for byte, but on a terminal.
    pub(crate) fn output(&self, mut bytes: impl Read) -> Result<(), Stop> {
        let mut passage = Passage::new(self.stdout.terminal);
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let n = match bytes.read(&mut piece) {
                Ok(0) => break,
                Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(Stop::output)?,
            };
            write_stdout(&passage.take(&piece[..n])).map_err(Stop::output)?;
        }
        write_stdout(&passage.finish()).map_err(Stop::output)
    }

    /// Shows what a tool has said beside its output: byte for byte, but on a terminal.
    pub(crate) fn output_beside(&self, text: &str) {
        let mut passage = Passage::new(self.stderr.terminal);
        write_stderr(&passage.take(text.as_bytes()));
        write_stderr(&passage.finish());
    }

    /// Prints the answer as the one JSON document.
    pub(crate) fn document(&self, document: &impl Serialize) -> Result<(), Stop> {
        let mut text = serde_json::to_string_pretty(document).map_err(Stop::internal)?;
        text.push('\n');
        write_stdout(escape(&text, Form::Json).as_bytes()).map_err(Stop::output)
    }

    /// Prints one of several JSON documents, on a line of its own.
    pub(crate) fn line(&self, document: &impl Serialize) -> Result<(), Stop> {
        let mut text = serde_json::to_string(document).map_err(Stop::internal)?;
        text.push('\n');
        write_stdout(escape(&text, Form::Json).as_bytes()).map_err(Stop::output)
    }

    /// Prints lines of JSON that are not of this program: byte for byte, but on a terminal, where what acts on it is an
    /// escape of JSON.
    pub(crate) fn lines_of_json(&self, lines: &str) -> Result<(), Stop> {
        let res = match self.stdout.terminal {
            true => write_stdout(escape(lines, Form::Json).as_bytes()),
            false => write_stdout(lines.as_bytes()),
        };
        res.map_err(Stop::output)
    }

    /// Tells the person at the terminal something beside the answer. With `--format json`, stderr
    /// is for errors alone.
    pub(crate) fn note(&self, text: impl fmt::Display) {
        if !self.quiet && !self.is_json() {
            self.complain(format_args!("{text}\n"));
        }
    }

    /// Writes to stderr, for people.
    pub(crate) fn complain(&self, text: impl fmt::Display) {
        complain(text, self.stderr);
    }

    /// Writes the one JSON document of an error to stderr.
    pub(crate) fn complain_json(&self, text: &str) {
        write_stderr(escape(text, Form::Json).as_bytes());
    }
}

/// Writes to stderr, for people, on a page of which little else is known.
pub(crate) fn complain(text: impl fmt::Display, page: Page) {
    write_stderr(escape(&text.to_string(), page.form()).as_bytes());
}

/// Draws a line over the one where the cursor is, or takes that away.
pub(crate) fn redraw(line: &str) {
    /// To the first column, and nothing behind it.
    const ERASE: &str = "\r\x1b[2K";
    write_stderr(format!("{ERASE}{}", escape(line, Form::Text)).as_bytes());
}

/// Writes what was escaped, or is for no terminal.
pub(crate) fn write_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Writes what was escaped, or is for no terminal. Where stderr is closed, the text is lost.
pub(crate) fn write_stderr(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

/// Forgets what was typed so far (tcflush(3)), so that only what is typed after a question answers it. Nothing happens
/// where stdin is no terminal.
pub(crate) fn forget_typed() {
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

/// Reads a line that a person writes, in a thread of its own: a task of the runtime would be waited for at the end, and
/// the line may never come. It is empty at the end of the input.
///
/// # Errors
///
/// stdin cannot be read, or the system has no thread left.
pub(crate) async fn read_line() -> io::Result<String> {
    let (sender, line) = oneshot::channel();
    thread::Builder::new().name("answer".to_owned()).spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line).map(|_| line);
        let _ = sender.send(read);
    })?;
    line.await.unwrap_or_else(|err| Err(io::Error::other(err)))
}

/// Acts when the reader of stdout closes it, in a thread of its own. Without that, a verb that waits would stay until
/// its next line, which may never come.
///
/// # Errors
///
/// The system has no thread left.
pub(crate) fn when_reader_has_gone(act: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("reader".to_owned()).spawn(move || {
        let stdout = io::stdout();
        // Nothing is asked for: errors are always told.
        let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
        while fds[0].revents().is_empty() {
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
        act();
    })?;
    Ok(())
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
    /// How text for people is escaped on it.
    fn form(self) -> Form {
        if self.color { Form::Styled } else { Form::Text }
    }

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
