//! One line on a terminal that says how far a long call has come.

use std::fmt::Write as _;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::evolve::Prompt;
use crate::screen::{Screen, redraw, write_stderr, write_stdout};
use crate::table::cut;
use crate::terminal::Passage;
use crate::words::one_line;

/// Calls that are done by then show nothing: half a second, where people begin to wonder.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between two pictures: ten a second look like motion.
pub(super) const PERIOD: Duration = Duration::from_millis(100);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The line. Drawn on stderr, updated in place, and gone before anything else is written.
#[derive(Debug)]
pub(super) struct Status {
    /// The tool, and since when it is called.
    call: Mutex<(String, Instant)>,
    /// Columns of the terminal; `None` draws nothing.
    width: Option<usize>,
    /// What the tool said last. Apart from the state, whose lock is held while something is written:
    /// a tool that tells of its progress does not wait for a terminal that is stopped.
    progress: Mutex<String>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    is_shown: bool,
    /// Output of the tool on the same terminal may have left the cursor within a line, and drawing
    /// would overwrite it.
    at_line_start: bool,
    n_drawn: usize,
    /// What the tool prints, on its way to the terminal or elsewhere.
    stdout: Passage,
    stderr: Passage,
}

impl Status {
    pub(super) fn new(name: &str, screen: &Screen) -> Self {
        let shows_status = screen.stderr.terminal && !screen.quiet && !screen.is_json();
        let width = screen.stderr.width.filter(|_| shows_status);
        let state = State {
            is_shown: false,
            at_line_start: true,
            n_drawn: 0,
            stdout: Passage::new(screen.stdout.terminal),
            stderr: Passage::new(screen.stderr.terminal),
        };
        Self {
            call: Mutex::new((one_line(name), Instant::now())),
            width,
            progress: Mutex::default(),
            state: Mutex::new(state),
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.width.is_some()
    }

    /// Says which tool is called from now on.
    pub(super) fn begin(&self, name: &str) {
        *unpoisoned(&self.call) = (one_line(name), Instant::now());
    }

    /// Takes what the tool says of its progress.
    pub(super) fn progress(&self, progress: &flyto_tools::Progress) {
        *unpoisoned(&self.progress) = one_line(&progress.to_string());
    }

    /// Draws the line anew, if it is time to show one.
    pub(super) fn tick(&self) {
        let Some(width) = self.width else { return };
        let (name, start) = unpoisoned(&self.call).clone();
        let elapsed = start.elapsed();
        // The thread that holds the lock is writing, and may have to wait.
        let Ok(mut state) = self.state.try_lock() else { return };
        if elapsed < PATIENCE || !state.at_line_start {
            return;
        }
        let line = picture(&name, elapsed, &unpoisoned(&self.progress), state.n_drawn, width);
        state.n_drawn += 1;
        state.is_shown = true;
        redraw(&line);
    }

    /// Takes the line away, and writes `bytes` to stdout where it was.
    pub(super) fn write_stdout(&self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.erased();
        state.at_line_start = bytes.last().map_or(state.at_line_start, |it| *it == b'\n');
        write_stdout(&state.stdout.take(bytes))
    }

    /// Takes the line away, and writes `bytes` to stderr where it was.
    pub(super) fn write_stderr(&self, bytes: &[u8]) {
        let mut state = self.erased();
        state.at_line_start = bytes.last().map_or(state.at_line_start, |it| *it == b'\n');
        write_stderr(&state.stderr.take(bytes));
    }

    /// A person has ended the line that was written last.
    pub(super) fn line_ended(&self) {
        unpoisoned(&self.state).at_line_start = true;
    }

    /// Writes what was kept of the last piece: a character that was not finished.
    pub(super) fn finish(&self) -> io::Result<()> {
        let mut state = self.erased();
        write_stderr(&state.stderr.finish());
        write_stdout(&state.stdout.finish())
    }

    /// Takes the line away. A writer has done so already, and is not waited for.
    pub(super) fn erase(&self) {
        if let Ok(mut state) = self.state.try_lock() {
            state.erase();
        }
    }

    fn erased(&self) -> MutexGuard<'_, State> {
        let mut state = unpoisoned(&self.state);
        state.erase();
        state
    }
}

impl Prompt for Status {
    fn write(&self, text: &str) {
        self.write_stderr(text.as_bytes());
    }

    fn line_ended(&self) {
        Self::line_ended(self);
    }
}

impl State {
    fn erase(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            redraw("");
        }
    }
}

/// What is guarded here is whole between any two statements that change it.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `⠋ text-stats:count 3s 40% reading`, cut to one line.
fn picture(name: &str, elapsed: Duration, progress: &str, nth: usize, width: usize) -> String {
    let mut line = format!("{} {name} {}s", FRAMES[nth % FRAMES.len()], elapsed.as_secs());
    if !progress.is_empty() {
        let _ = write!(line, " {progress}");
    }
    // A line that fills the last column makes some terminals go on to the next one.
    cut(&line, width.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(progress: &str, nth: usize, width: usize, expect: &str) {
        assert_eq!(picture("p:t", Duration::from_millis(3_900), progress, nth, width), expect);
    }

    #[test]
    fn the_line_fits_the_terminal() {
        check("", 0, 80, "⠋ p:t 3s");
        check("40% reading", 11, 80, "⠙ p:t 3s 40% reading");
        check("40% reading a long list", 0, 20, "⠋ p:t 3s 40% readi…");
    }

    #[test]
    fn no_call_waits_for_a_writer() {
        let status = Status { width: Some(80), ..Status::new("p:t", &Screen::plain()) };
        let writing = unpoisoned(&status.state);
        status.tick();
        status.erase();
        status.progress(&flyto_tools::Progress::new(0.5, "half").unwrap());
        assert_eq!(writing.n_drawn, 0);
    }

    #[test]
    fn without_a_terminal_nothing_is_drawn() {
        let status = Status::new("p:t", &Screen::plain());
        status.tick();
        assert!(!status.is_active());
        assert_eq!(unpoisoned(&status.state).n_drawn, 0);
    }
}
