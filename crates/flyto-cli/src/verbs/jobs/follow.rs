//! The output of a job as it comes.

use std::fs::File;
use std::io::Read as _;
use std::time::Duration;

use flyto_host::jobs::{Job, JobState, JobStore, JobStream};
use serde::Serialize;

use super::{failed, note_dropped, unreadable};
use crate::screen::{Screen, write_stderr, write_stdout};
use crate::stop::Stop;
use crate::terminal::Passage;

/// Between two looks at the files: what a person takes for at once.
const PERIOD: Duration = Duration::from_millis(100);

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 64 * 1024;

pub(super) struct Follow<'a> {
    job: &'a Job,
    store: &'a JobStore,
    screen: &'a Screen,
    streams: [Stream; 2],
}

/// One of the two, and how far it was read.
struct Stream {
    which: JobStream,
    file: File,
    passage: Passage,
    /// The beginning of a character whose end has not come yet; for JSON.
    held: Vec<u8>,
}

/// A piece of the output, for programs.
#[derive(Serialize)]
struct Piece<'a> {
    event: &'static str,
    stream: &'static str,
    text: &'a str,
}

/// The last line, for programs.
#[derive(Serialize)]
struct End<'a> {
    event: &'static str,
    #[serde(flatten)]
    job: &'a Job,
}

impl<'a> Follow<'a> {
    pub(super) fn new(job: &'a Job, store: &'a JobStore, screen: &'a Screen) -> Result<Self, Stop> {
        let open = |which, is_terminal| -> Result<Stream, Stop> {
            let file = store.output(&job.id, which).map_err(|err| failed(err, store))?;
            Ok(Stream { which, file, passage: Passage::new(is_terminal), held: Vec::new() })
        };
        let streams = [
            open(JobStream::Stdout, screen.stdout.terminal)?,
            open(JobStream::Stderr, screen.stderr.terminal)?,
        ];
        Ok(Self { job, store, screen, streams })
    }

    /// Prints what there is and what comes, until the job has ended.
    pub(super) fn run(mut self) -> Result<(), Stop> {
        let job = loop {
            // Before the files: what the job printed at last is there when it has ended.
            let job = self.store.find(self.job.id.as_str());
            let job = job.map_err(|err| failed(err, self.store))?;
            let mut n_read = 0;
            for stream in &mut self.streams {
                n_read += stream.show(self.screen, self.store)?;
            }
            if n_read == 0 && job.state != JobState::Running {
                break job;
            }
            if n_read == 0 {
                std::thread::sleep(PERIOD);
            }
        };
        for stream in &mut self.streams {
            stream.finish(self.screen)?;
        }
        if self.screen.is_json() {
            return self.screen.line(&End { event: "end", job: &job });
        }
        note_dropped(&job, self.screen);
        Ok(())
    }
}

impl Stream {
    /// Prints one piece of what is new, and gives its size.
    fn show(&mut self, screen: &Screen, store: &JobStore) -> Result<usize, Stop> {
        let mut bytes = vec![0; PIECE_BYTES];
        let read = self.file.read(&mut bytes);
        let n = read.map_err(|err| failed(unreadable(&err), store))?;
        bytes.truncate(n);
        if n > 0 {
            self.write(&bytes, screen)?;
        }
        Ok(n)
    }

    fn write(&mut self, bytes: &[u8], screen: &Screen) -> Result<(), Stop> {
        if screen.is_json() {
            self.held.extend_from_slice(bytes);
            let n_whole = whole_characters(&self.held);
            let rest = self.held.split_off(n_whole);
            let whole = std::mem::replace(&mut self.held, rest);
            return self.line(&whole, screen);
        }
        match self.which {
            JobStream::Stderr => {
                if !screen.quiet {
                    write_stderr(&self.passage.take(bytes));
                }
                Ok(())
            }
            _ => write_stdout(&self.passage.take(bytes)).map_err(Stop::output),
        }
    }

    /// Writes what was kept of the last piece.
    fn finish(&mut self, screen: &Screen) -> Result<(), Stop> {
        if screen.is_json() {
            let rest = std::mem::take(&mut self.held);
            return self.line(&rest, screen);
        }
        let rest = self.passage.finish();
        match self.which {
            JobStream::Stderr => write_stderr(&rest),
            _ => write_stdout(&rest).map_err(Stop::output)?,
        }
        Ok(())
    }

    fn line(&self, bytes: &[u8], screen: &Screen) -> Result<(), Stop> {
        if bytes.is_empty() {
            return Ok(());
        }
        let stream = match self.which {
            JobStream::Stderr => "stderr",
            _ => "stdout",
        };
        let text = String::from_utf8_lossy(bytes);
        screen.line(&Piece { event: "output", stream, text: &text })
    }
}

/// How many bytes from the beginning end with a character that is complete, or is none at all.
fn whole_characters(bytes: &[u8]) -> usize {
    let mut from = 0;
    loop {
        match std::str::from_utf8(&bytes[from..]) {
            Ok(_) => return bytes.len(),
            Err(err) => match err.error_len() {
                // What is wrong in the middle is replaced; only the end may become right.
                Some(n) => from += err.valid_up_to() + n,
                None => return from + err.valid_up_to(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_not_torn() {
        for (bytes, expect) in [
            (&b"abc"[..], 3),
            ("é".as_bytes(), 2),
            (&b"a\xc3"[..], 1),
            (&b"\xffa\xe2\x82"[..], 2),
            (&b"\xff\xff"[..], 2),
            (&b""[..], 0),
        ] {
            assert_eq!(whole_characters(bytes), expect, "{bytes:?}");
        }
    }
}
