//! The pipes between this process and a program.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use rustix::{
    io::{fcntl_dupfd_cloexec, ioctl_fionbio},
    pipe::PIPE_BUF,
};
use tokio::net::unix::pipe;

use super::reader::PipeReader;
use crate::{
    ErrorOutput, Output, Running, Spec, Stdin,
    traits::{BoxedReader, BoxedWriter},
};

/// Input up to this size is written into the pipe before the program starts: 64 KiB, what a pipe
/// holds by default (pipe(7)). It needs neither a writer nor a place in the event loop then.
const PREFILL_BYTES: usize = 64 * 1024;

/// The open streams of a program that is about to start.
///
/// Any backend that starts programs on this machine can use it: it gives `child` to the program,
/// closes its copies once the program is started, so that the streams end with the program, and
/// attaches `host` to what it hands out.
#[derive(Debug)]
pub struct Streams {
    /// What becomes descriptors 0, 1 and 2 of the program, in this order. Each is closed on execution
    /// and is 3 or greater, so that none is in the way of another one's place.
    pub child: [OwnedFd; 3],
    /// The other ends.
    pub host: HostEnds,
}

/// The host's ends of a program's streams.
///
/// Dropping them closes them, and the program sees the end of its input.
#[derive(Debug, Default)]
pub struct HostEnds {
    stdin: Option<OwnedFd>,
    stdout: Option<OutputEnd>,
    stderr: Option<OutputEnd>,
}

/// Where output comes out.
#[derive(Debug)]
struct OutputEnd {
    pipe: OwnedFd,
    /// The caller talks to the program and waits for its words.
    is_talk: bool,
}

impl Streams {
    /// Opens what `spec` asks for. Input of up to 64 KiB lies in the pipe then.
    ///
    /// # Errors
    ///
    /// The system is short of descriptors or of memory for pipes.
    pub fn open(spec: &Spec) -> io::Result<Self> {
        let mut host = HostEnds::default();
        let stdin = match &spec.stdin {
            Stdin::Null => null(OpenOptions::new().read(true))?,
            Stdin::Bytes(bytes) => match prefilled(bytes)? {
                Some(reader) => reader,
                None => input_pipe(&mut host.stdin)?,
            },
            Stdin::Piped => input_pipe(&mut host.stdin)?,
        };
        let stdout = output(&spec.stdout, &mut host.stdout)?;
        let stderr = match &spec.stderr {
            ErrorOutput::Merged => fcntl_dupfd_cloexec(&stdout, 3)?,
            ErrorOutput::Separate(wanted) => output(wanted, &mut host.stderr)?,
        };
        Ok(Self { child: [stdin, stdout, stderr], host })
    }
}

impl HostEnds {
    /// Where the program's input goes, if that is written to a pipe.
    #[must_use]
    pub fn stdin(&self) -> Option<BorrowedFd<'_>> {
        self.stdin.as_ref().map(AsFd::as_fd)
    }

    /// Makes them the streams of `running`, on the current runtime. Its event loop watches piped streams
    /// at once, and captured ones when they are still open after a millisecond: programs that are gone
    /// by then are read without it.
    ///
    /// # Errors
    ///
    /// The runtime's event loop takes no more.
    pub fn attach(self, running: &mut Running) -> io::Result<()> {
        running.stdin = self.stdin.map(writer).transpose()?;
        running.stdout = self.stdout.map(reader).transpose()?;
        running.stderr = self.stderr.map(reader).transpose()?;
        Ok(())
    }
}

/// Nothing to read, or nowhere to write.
fn null(options: &mut OpenOptions) -> io::Result<OwnedFd> {
    beyond_streams(options.open("/dev/null")?.into())
}

/// A pipe that already holds all of `bytes`, if one pipe can.
fn prefilled(bytes: &[u8]) -> io::Result<Option<OwnedFd>> {
    if bytes.len() > PREFILL_BYTES {
        return Ok(None);
    }
    let (reader, mut writer) = io::pipe()?;
    // Every pipe takes this much at once; a user with many gets small ones (pipe(7)).
    if bytes.len() > PIPE_BUF {
        ioctl_fionbio(&writer, true)?;
    }
    match writer.write(bytes) {
        Ok(n) if n == bytes.len() => beyond_streams(reader.into()).map(Some),
        _ => Ok(None),
    }
}

/// The program's end; the host's goes to `host`.
fn input_pipe(host: &mut Option<OwnedFd>) -> io::Result<OwnedFd> {
    let (reader, writer) = io::pipe()?;
    *host = Some(writer.into());
    beyond_streams(reader.into())
}

/// The program's end of an output, and the host's where the output is kept or handed out.
fn output(wanted: &Output, host: &mut Option<OutputEnd>) -> io::Result<OwnedFd> {
    match wanted {
        Output::Null => null(OpenOptions::new().write(true)),
        Output::Captured(_) | Output::Piped => {
            let (reader, writer) = io::pipe()?;
            *host = Some(OutputEnd { pipe: reader.into(), is_talk: *wanted == Output::Piped });
            beyond_streams(writer.into())
        }
    }
}

/// The same file with a number above those of the standard streams. Only a host that closed its own
/// ones gets lower numbers.
fn beyond_streams(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 { Ok(fd) } else { Ok(fcntl_dupfd_cloexec(&fd, 3)?) }
}

/// Captured output begins unwatched, a stream that is talked over is watched from the start.
fn reader(OutputEnd { pipe, is_talk }: OutputEnd) -> io::Result<BoxedReader> {
    ioctl_fionbio(&pipe, true)?;
    Ok(Box::new(if is_talk { PipeReader::watched(pipe)? } else { PipeReader::new(pipe) }))
}

/// # Errors
///
/// The runtime's event loop takes no more.
fn writer(fd: OwnedFd) -> io::Result<BoxedWriter> {
    ioctl_fionbio(&fd, true)?;
    Ok(Box::new(pipe::Sender::from_owned_fd_unchecked(fd)?))
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Read, os::unix::fs::MetadataExt};

    use super::*;

    /// Which ends the host has, and what is behind those of the program: a number is a pipe.
    #[track_caller]
    fn check(spec: Spec, expect: [bool; 3], expect_child: [&str; 3]) {
        let Streams { child, host } = Streams::open(&spec).expect("a few descriptors");
        assert!(child.iter().all(|it| it.as_raw_fd() > 2));
        assert_eq!([host.stdin.is_some(), host.stdout.is_some(), host.stderr.is_some()], expect);
        let null = std::fs::metadata("/dev/null").expect("every Unix has it").ino();
        let inodes = child.map(|it| File::from(it).metadata().expect("it is open").ino());
        let names = inodes.map(|it| match inodes.iter().position(|other| *other == it) {
            _ if it == null => "null".to_owned(),
            at => at.expect("it is in there").to_string(),
        });
        assert_eq!(names, expect_child);
    }

    #[test]
    fn the_host_has_an_end_of_each_pipe_that_it_needs() {
        let spec = || Spec::new("x");
        check(spec(), [false, true, true], ["null", "1", "2"]);
        check(spec().stdin_bytes("in"), [false, true, true], ["0", "1", "2"]);
        check(spec().stdin_bytes(vec![0; 65 << 10]), [true, true, true], ["0", "1", "2"]);
        check(spec().stdin(Stdin::Piped), [true, true, true], ["0", "1", "2"]);
        check(spec().merge_stderr(), [false, true, false], ["null", "1", "1"]);
        let nothing = spec().stdout(Output::Null);
        check(nothing.clone().merge_stderr(), [false; 3], ["null"; 3]);
        check(nothing.stderr(Output::Piped), [false, false, true], ["null", "null", "2"]);
    }

    #[test]
    fn input_that_fits_lies_in_the_pipe() {
        for n in [1, PIPE_BUF + 1, PREFILL_BYTES] {
            let input: Vec<u8> = (0..n).map(|it| it as u8).collect();
            let spec = Spec::new("x").stdin_bytes(input.clone());
            let Streams { child: [stdin, ..], .. } = Streams::open(&spec).expect("descriptors");
            let mut read = Vec::new();
            File::from(stdin).read_to_end(&mut read).expect("the other end is closed");
            assert_eq!(read, input);
        }
    }
}
