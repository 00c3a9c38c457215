//! Keeping the start and the end of a stream in bounded memory: output is truncated in the middle.
//!
//! Bytes are read straight into the place where they stay: the start into a growing buffer, the end
//! into a ring. Nothing is copied a second time, so a capture reads as fast as a loop that throws
//! everything away (`cargo xtask bench stream`). A ring that is smaller than a read is the exception:
//! there a copy of the last few bytes costs less than many small reads.
//!
//! A [`Recorder`] keeps one stream: its first bytes in `head`, its last ones in a ring, a count of
//! all, and where asked for a file with the whole. It is driven by the loop of
//! [`drive`](crate::drive), one read at a time. Memory is bounded by [`Capture::limit_bytes`] and
//! one read; the file by [`Capture::spill_limit_bytes`].

use std::{io, ops::Range, path::PathBuf};

use bytes::BufMut;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::{Capture, Captured, SkippedBytes, SpillBounds, outcome::Spill, spill_file::SpillFile};

/// Bytes asked for in one read: 256 KiB, what the local backend makes of the pipe of a long stream. A
/// read that does not fill its buffer tells the event loop that the pipe is empty, which saves a
/// second one.
const READ_BYTES: usize = 256 * 1024;

/// The first read is small, since most tools print little.
const FIRST_READ_BYTES: usize = 4 * 1024;

/// What a buffer grows to once the first read was not enough: 256 KiB, twice what the C library
/// takes for a block of its own (mallopt(3), `M_MMAP_THRESHOLD`).
const LARGE_BLOCK_BYTES: usize = 256 * 1024;

/// What is kept of one stream while it is read. It reads straight into its own buffers, so a byte is copied
/// once.
///
/// The ring is in use once `head` is full. As long as it is not full itself it grows, and `ring_at`
/// is 0.
#[derive(Debug)]
pub(crate) struct Recorder {
    head: Vec<u8>,
    /// Bytes that `head` may hold. It sinks to what `head` holds where the backend left bytes out.
    head_limit: usize,
    ring: Vec<u8>,
    ring_limit: usize,
    /// Where the next byte goes once the ring is full; also where its oldest byte lies.
    ring_at: usize,
    /// Takes what cannot be kept, where the limit leaves no room for a ring.
    scratch: Vec<u8>,
    /// All bytes of the stream, those that were not kept and those that a backend left out
    /// included.
    total_bytes: u64,
    spill: SpillState,
}

/// Where the bytes of one read are.
///
/// The new bytes are lent to the observer from there, without a copy.
#[derive(Clone, Copy)]
enum Place {
    Head,
    Scratch,
    Ring,
}

/// The file for the whole of a stream, from before the first byte that does not fit to its end.
///
/// It goes from `Waiting` to `Writing` when the first byte would be lost, and to `Failed` at the
/// first error; from there it does not come back.
#[derive(Debug)]
enum SpillState {
    /// No file was asked for.
    Off,
    /// Everything is in memory still.
    Waiting { path: PathBuf, limit_bytes: u64, bounds: Option<SpillBounds> },
    /// `room_bytes` more may be written.
    Writing { file: SpillFile, room_bytes: u64 },
    /// The file is removed; the error is told with the captured stream.
    Failed { path: PathBuf, error: io::Error },
}

impl Recorder {
    /// Buffers grow with the stream: a program that prints nothing costs no memory.
    pub(crate) fn new(capture: &Capture) -> Self {
        let (head_limit, ring_limit) = capture.kept_bytes();
        let bytes = |it| usize::try_from(it).unwrap_or(usize::MAX);
        let (head_limit, ring_limit) = (bytes(head_limit), bytes(ring_limit));
        Self {
            head: Vec::new(),
            head_limit,
            ring: Vec::new(),
            ring_limit,
            ring_at: 0,
            scratch: Vec::new(),
            total_bytes: 0,
            spill: match &capture.spill {
                Some(path) => SpillState::Waiting {
                    path: path.clone(),
                    limit_bytes: capture.spill_limit_bytes,
                    bounds: capture.spill_bounds,
                },
                None => SpillState::Off,
            },
        }
    }

    /// Keeps nothing and counts.
    pub(crate) fn discarding() -> Self {
        Self::new(&Capture::limit(0))
    }

    /// Reads once and returns the new bytes, and how many the reader left out before them; an empty slice is the end of
    /// the stream.
    ///
    /// Cancel-safe: bytes that were read are kept, whatever happens to this future.
    ///
    /// # Errors
    ///
    /// Those of the reader. An error of the file is kept for the end, since the program is not to
    /// blame for a full disk.
    pub(crate) async fn read_from<R>(
        &mut self,
        reader: &mut R,
        skipped: &SkippedBytes,
    ) -> io::Result<(&[u8], u64)>
    where
        R: AsyncRead + Unpin + ?Sized,
    {
        let ring_is_full = self.ring.len() == self.ring_limit;
        let (place, from) = if self.head.len() < self.head_limit {
            let from = self.head.len();
            let room = self.head.capacity() - from;
            let wanted = match from {
                0 => FIRST_READ_BYTES,
                // A short stream ends with a read that brings nothing, and needs no larger buffer.
                _ if room >= FIRST_READ_BYTES / 4 => room.min(READ_BYTES),
                _ => READ_BYTES,
            };
            read_into(reader, &mut self.head, wanted, self.head_limit).await?;
            (Place::Head, from..self.head.len())
        } else if self.ring_limit < READ_BYTES || (ring_is_full && self.spill.is_waiting()) {
            self.scratch.clear();
            read_into(reader, &mut self.scratch, READ_BYTES, READ_BYTES).await?;
            if self.ring.len() + self.scratch.len() > self.ring_limit {
                self.start_spill();
            }
            self.push_to_ring();
            (Place::Scratch, 0..self.scratch.len())
        } else if !ring_is_full {
            let from = self.ring.len();
            read_into(reader, &mut self.ring, READ_BYTES, self.ring_limit).await?;
            (Place::Ring, from..self.ring.len())
        } else {
            let from = self.ring_at;
            let end = self.ring_limit.min(from + READ_BYTES);
            let n = reader.read(&mut self.ring[from..end]).await?;
            self.ring_at = (from + n) % self.ring_limit;
            (Place::Ring, from..from + n)
        };
        self.total_bytes += from.len() as u64;
        let n_skipped = skipped.take();
        if n_skipped > 0 {
            self.leave_gap(n_skipped, place, from);
            return Ok((&self.scratch, n_skipped));
        }
        let new = match place {
            Place::Head => &self.head[from],
            Place::Scratch => &self.scratch[from],
            Place::Ring => &self.ring[from],
        };
        self.spill.append(new);
        Ok((new, 0))
    }

    /// Takes note that bytes are missing before those that were read last. The start of the stream ends there, and what
    /// was kept of its end so far is no part of it any more.
    ///
    /// A backend that skips bytes tells after the read that brought the bytes behind the gap.
    fn leave_gap(&mut self, n_skipped: u64, place: Place, new: Range<usize>) {
        self.total_bytes = self.total_bytes.saturating_add(n_skipped);
        match place {
            Place::Head => self.scratch = self.head.split_off(new.start),
            Place::Scratch => {}
            Place::Ring => self.scratch = self.ring[new].to_vec(),
        }
        self.head_limit = self.head.len();
        self.ring.clear();
        self.ring_at = 0;
        self.spill.give_up();
        self.push_to_ring();
    }

    /// Opens the file with what was kept so far, now that the next byte would push one out.
    ///
    /// An error is kept in the state.
    fn start_spill(&mut self) {
        let SpillState::Waiting { path, limit_bytes, bounds } = &mut self.spill else { return };
        let (path, room_bytes, bounds) = (std::mem::take(path), *limit_bytes, *bounds);
        self.spill = match SpillFile::create(&path, bounds) {
            Ok(file) => SpillState::Writing { file, room_bytes },
            Err(error) => SpillState::Failed { path, error },
        };
        self.spill.append(&self.head);
        self.spill.append(&self.ring);
    }

    /// Copies the scratch bytes to the end of the ring, over its oldest once it is full.
    ///
    /// Only the last `ring_limit` bytes of scratch matter.
    fn push_to_ring(&mut self) {
        if self.ring_limit == 0 {
            return;
        }
        let skipped = self.scratch.len().saturating_sub(self.ring_limit);
        let new = &self.scratch[skipped..];
        let (appended, rest) = new.split_at(new.len().min(self.ring_limit - self.ring.len()));
        self.ring.extend_from_slice(appended);
        let (before_wrap, after_wrap) =
            rest.split_at(rest.len().min(self.ring_limit - self.ring_at));
        self.ring[self.ring_at..][..before_wrap.len()].copy_from_slice(before_wrap);
        self.ring[..after_wrap.len()].copy_from_slice(after_wrap);
        self.ring_at = (self.ring_at + rest.len()) % self.ring_limit;
    }

    /// Ends the recording. A file that does not hold the whole stream is removed.
    ///
    /// The head and the tail do not overlap. The file is left in place from here on, and belongs to
    /// the caller.
    pub(crate) fn finish(mut self) -> Captured {
        // The ring's oldest byte comes first.
        if self.ring.len() == self.ring_limit {
            self.ring.rotate_left(self.ring_at);
        }
        let spill = match self.spill {
            SpillState::Off | SpillState::Waiting { .. } => None,
            SpillState::Writing { mut file, .. } => {
                let error = file.end().err();
                Some(Spill { path: file.path().to_owned(), error })
            }
            SpillState::Failed { path, error } => Some(Spill { path, error: Some(error) }),
        };
        Captured { head: self.head, tail: self.ring, total_bytes: self.total_bytes, spill }
    }
}

impl SpillState {
    /// A stream of which something was left out is no whole one.
    fn give_up(&mut self) {
        let path = match self {
            Self::Waiting { path, .. } => std::mem::take(path),
            Self::Writing { file, .. } => file.path().to_owned(),
            Self::Off | Self::Failed { .. } => return,
        };
        let error = io::Error::other("the backend left out a part of the stream");
        *self = Self::Failed { path, error };
    }

    fn is_waiting(&self) -> bool {
        matches!(self, Self::Waiting { .. })
    }

    /// Does nothing in every state but `Writing`. A file that would pass its limit is an error
    /// ([`io::ErrorKind::FileTooLarge`]), as is one for which its directory has no room, and is removed.
    fn append(&mut self, bytes: &[u8]) {
        let Self::Writing { file, room_bytes } = self else { return };
        let res = match room_bytes.checked_sub(bytes.len() as u64) {
            Some(left) => {
                *room_bytes = left;
                file.append(bytes)
            }
            None => Err(io::ErrorKind::FileTooLarge.into()),
        };
        if let Err(error) = res {
            let path = file.path().to_owned();
            *self = Self::Failed { path, error };
        }
    }
}

/// Appends one read of at most `wanted` bytes to `buffer`, which grows as needed up to `limit`.
async fn read_into<R>(
    reader: &mut R,
    buffer: &mut Vec<u8>,
    wanted: usize,
    limit: usize,
) -> io::Result<()>
where
    R: AsyncRead + Unpin + ?Sized,
{
    let room = wanted.min(limit - buffer.len());
    if buffer.capacity() - buffer.len() < room {
        let target = if buffer.len() + room <= FIRST_READ_BYTES {
            FIRST_READ_BYTES
        } else {
            // Blocks of this size grow in place: the C library moves pages, not bytes (mremap(2)).
            (buffer.capacity() * 2).max(buffer.len() + room).max(LARGE_BLOCK_BYTES)
        };
        buffer.reserve_exact(target.min(limit) - buffer.len());
    }
    let mut window = buffer.limit(room);
    reader.read_buf(&mut window).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        time::SystemTime,
    };

    use proptest::prelude::*;

    use super::*;

    /// Feeds `input` in pieces of `piece` bytes through a recorder.
    fn record(input: &[u8], piece: usize, capture: &Capture) -> Captured {
        struct Pieces<'a>(&'a [u8], usize);
        impl AsyncRead for Pieces<'_> {
            fn poll_read(
                mut self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
                buf: &mut tokio::io::ReadBuf<'_>,
            ) -> std::task::Poll<io::Result<()>> {
                let n = self.1.min(self.0.len()).min(buf.remaining());
                buf.put_slice(&self.0[..n]);
                self.0 = &self.0[n..];
                std::task::Poll::Ready(Ok(()))
            }
        }
        let mut recorder = Recorder::new(capture);
        let mut reader = Pieces(input, piece);
        let none = SkippedBytes::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            while !recorder.read_from(&mut reader, &none).await.expect("memory").0.is_empty() {}
        });
        recorder.finish()
    }

    proptest! {
        #[test]
        fn start_and_end_are_kept_and_all_is_counted(
            input in proptest::collection::vec(any::<u8>(), 0..300),
            piece in 1usize..100,
            limit in 0u64..200,
            spilling: bool,
        ) {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("made/as needed/whole");
            let capture = Capture { spill: spilling.then(|| path.clone()), ..Capture::limit(limit) };
            let captured = record(&input, piece, &capture);

            let kept = captured.bytes().into_owned();
            prop_assert_eq!(kept.len() as u64, limit.min(input.len() as u64));
            prop_assert!(input.starts_with(&captured.head));
            prop_assert!(input.ends_with(&captured.tail));
            prop_assert_eq!(captured.total_bytes, input.len() as u64);
            let outgrown = input.len() as u64 > limit;
            prop_assert_eq!(captured.is_complete(), !outgrown);
            prop_assert_eq!(path.exists(), spilling && outgrown);
            if let Some(whole) = captured.whole() {
                prop_assert_eq!(std::fs::read(whole).expect("written"), input);
            }
        }
    }

    #[test]
    fn a_stream_beyond_the_limit_of_its_file_leaves_none() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("whole");
        let capture = Capture { spill_limit_bytes: 9, ..Capture::limit(4).spill_to(&path) };
        let captured = record(b"012345678", 2, &capture);
        assert_eq!(
            std::fs::read(captured.whole().expect("it fits")).expect("written"),
            b"012345678"
        );
        std::fs::remove_file(&path).expect("it is there");

        let captured = record(b"0123456789", 2, &capture);
        assert_eq!((captured.whole(), captured.total_bytes), (None, 10));
        let spill = captured.spill.expect("asked for");
        assert_eq!(spill.error.expect("too large").kind(), io::ErrorKind::FileTooLarge);
        assert!(!path.exists());
    }

    proptest! {
        /// What is kept on both sides of a gap is the start and the end, and all of it is counted.
        #[test]
        fn a_gap_is_counted_and_joins_nothing(
            before in proptest::collection::vec(any::<u8>(), 0..60),
            gap in 1u64..1 << 40,
            after in proptest::collection::vec(any::<u8>(), 0..60),
            limit in 0u64..80,
        ) {
            let mut recorder = Recorder::new(&Capture::limit(limit));
            let skipped = SkippedBytes::default();
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            let n_skipped = runtime.block_on(async {
                let mut reader = &before[..];
                while !recorder.read_from(&mut reader, &skipped).await.expect("memory").0.is_empty() {}
                skipped.add(gap);
                let mut n_skipped = 0;
                let mut reader = &after[..];
                loop {
                    let (new, n) = recorder.read_from(&mut reader, &skipped).await.expect("memory");
                    n_skipped += n;
                    if new.is_empty() {
                        break n_skipped;
                    }
                }
            });
            let captured = recorder.finish();
            prop_assert_eq!(n_skipped, gap);
            prop_assert_eq!(captured.total_bytes, gap + (before.len() + after.len()) as u64);
            prop_assert!(before.starts_with(&captured.head));
            prop_assert!(after.ends_with(&captured.tail));
            let (head, tail) = Capture::limit(limit).kept_bytes();
            prop_assert_eq!(captured.head.len() as u64, head.min(before.len() as u64));
            prop_assert_eq!(captured.tail.len() as u64, tail.min(after.len() as u64));
            prop_assert!(!captured.is_complete());
        }
    }

    #[test]
    fn all_files_of_a_directory_have_a_bound() {
        let dir = tempfile::tempdir().expect("a directory");
        let bounds = SpillBounds::new(1000).least_age(std::time::Duration::from_secs(60));
        let mut kept = Vec::new();
        for name in ["a", "b", "c"] {
            let capture = Capture::limit(4).spill_to(dir.path().join(name));
            let captured = record(&[b'x'; 400], 7, &capture.spill_within(Some(bounds)));
            assert_eq!((captured.bytes().len(), captured.total_bytes), (4, 400));
            kept.push(captured.spill.expect("asked for").error.map(|it| it.kind()));
        }
        assert_eq!(kept, [None, None, Some(io::ErrorKind::QuotaExceeded)]);
        let lengths: Vec<_> =
            ["a", "b"].map(|it| fs::metadata(dir.path().join(it)).expect("kept").len()).into();
        assert_eq!(lengths, [400, 400]);
        assert!(!dir.path().join("c").exists());
    }

    #[test]
    fn files_that_are_written_at_once_share_the_bound() {
        let dir = tempfile::tempdir().expect("a directory");
        let bounds = SpillBounds::new(1000).least_age(std::time::Duration::from_secs(60));
        let mut writers: Vec<_> = ["a", "b", "c"]
            .map(|it| Capture::limit(4).spill_to(dir.path().join(it)).spill_within(Some(bounds)))
            .iter()
            .map(Recorder::new)
            .collect();
        let none = SkippedBytes::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let total = || -> u64 {
            let files = fs::read_dir(dir.path()).expect("listed").map(|it| it.expect("there"));
            files.map(|it| it.metadata().expect("there").len()).sum()
        };
        for _ in 0..50 {
            for writer in &mut writers {
                let mut piece = &[b'x'; 10][..];
                runtime.block_on(writer.read_from(&mut piece, &none)).expect("memory");
                assert!(total() <= 1000);
            }
        }
        let kept = writers.into_iter().map(Recorder::finish);
        let kept: Vec<_> = kept.filter(|it| it.whole().is_some()).collect();
        assert_eq!(kept.len(), 2);
        assert_eq!(total(), kept.iter().map(|it| it.total_bytes).sum::<u64>());
    }

    #[test]
    fn a_gap_leaves_no_file_that_counts_as_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("whole");
        let mut recorder = Recorder::new(&Capture::limit(2).spill_to(&path));
        let (mut reader, skipped): (&[u8], _) = (b"0123", SkippedBytes::default());
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            while !recorder.read_from(&mut reader, &skipped).await.expect("memory").0.is_empty() {}
            assert!(path.exists());
            skipped.add(5);
            recorder.read_from(&mut reader, &skipped).await.expect("memory");
        });
        let captured = recorder.finish();
        assert_eq!((captured.whole(), captured.total_bytes), (None, 9));
        assert!(!path.exists());
    }

    #[test]
    fn a_recorder_that_is_dropped_leaves_no_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("whole");
        let mut recorder = Recorder::new(&Capture::limit(1).spill_to(&path));
        let mut reader: &[u8] = b"0123";
        let none = SkippedBytes::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            while !recorder.read_from(&mut reader, &none).await.expect("memory").0.is_empty() {}
        });
        assert!(path.exists());
        drop(recorder);
        assert!(!path.exists());
    }

    #[test]
    fn a_spill_is_locked_while_it_is_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("spill");
        let mut recorder = Recorder::new(&Capture::limit(4).spill_to(&path));
        recorder.scratch = b"0123456789".to_vec();
        recorder.start_spill();
        let file = File::options().write(true).open(&path).expect("there");
        assert!(matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)));
        file.set_modified(SystemTime::UNIX_EPOCH).expect("changed");
        recorder.finish();
        file.try_lock_shared().expect("its writer has ended");
        let modified = file.metadata().and_then(|it| it.modified()).expect("told");
        assert!(modified > SystemTime::UNIX_EPOCH, "its age is counted from the end of the call");
    }

    #[test]
    fn a_spill_that_fails_is_told_and_capture_goes_on() {
        let dir = tempfile::tempdir().expect("a directory");
        let taken = dir.path().join("taken");
        std::fs::write(&taken, "mine").expect("written");
        let captured = record(b"0123456789", 3, &Capture::limit(4).spill_to(&taken));
        assert_eq!((captured.head.as_slice(), captured.tail.as_slice()), (&b"01"[..], &b"89"[..]));
        let spill = captured.spill.as_ref().expect("asked for");
        let error = spill.error.as_ref().expect("the file was there before");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(captured.whole(), None);
        assert_eq!(std::fs::read(&taken).expect("still there"), b"mine");
    }
}
