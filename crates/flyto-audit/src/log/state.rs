//! The files of one writer, and how a line gets into them.
//!
//! [`State`] holds the descriptors, [`Locked`] is a state under the lock. Only a `Locked` writes,
//! and only after `catch_up` said what the files hold; `known` is `None` from the first doubt on
//! until the next `catch_up`.

use std::{
    fs::File,
    io::{self, Write as _},
    mem,
    ops::{Deref, DerefMut},
    path::Path,
    time::{Duration, Instant},
};

use super::{Fsync, Options, Size, Wait};
use crate::{
    AuditError, Head, MAX_RECORD_BYTES,
    files::{self, CURRENT, FoundHead, HEAD, rotated_name},
    head::{BLOCK_BYTES, HeadFile},
    line::{self, Content, Place},
    sys::{self, Access, Dir},
};

/// With [`Fsync::Batch`]: records after which the file is forced onto the disk.
const BATCH_RECORDS: u32 = 128;

/// With [`Fsync::Batch`]: time after which the next record forces the file onto the disk.
const BATCH_TIME: Duration = Duration::from_millis(100);

/// The descriptors of one writer, and what it knows of the files.
///
/// Both descriptors may become those of files that have other names by now, since another process may rotate, and an
/// operator may remove `head.json`. Each append compares them with the names.
#[derive(Debug)]
pub(super) struct State {
    pub(super) dir: Dir,
    pub(super) options: Options,
    head_file: Opened,
    /// The file that is written to; `None` before the first look.
    current: Option<Opened>,
    /// What the files say; `None` where they have to be looked at.
    known: Option<Known>,
    /// The line being written, kept for its memory.
    buf: Vec<u8>,
    /// Writes since the file was last forced onto the disk.
    unsynced: u32,
    last_sync: Instant,
}

/// An open file.
#[derive(Debug)]
struct Opened {
    file: File,
    /// [`FileId::identity`](sys::FileId::identity), for comparison with what the name leads to.
    identity: (u64, u64),
}

/// What the files say, by the last look or the last write.
#[derive(Debug)]
struct Known {
    head: HeadFile,
    /// The bytes in `head.json`.
    block: [u8; BLOCK_BYTES],
}

impl State {
    /// Opens the directory and `head.json`; both are made where they do not exist.
    pub(super) fn open(path: &Path, options: Options) -> Result<Self, AuditError> {
        let dir = Dir::create(path)?;
        let head_file = open(&dir, HEAD, Access::Rewrite)?;
        Ok(Self {
            dir,
            options,
            head_file,
            current: None,
            known: None,
            buf: Vec::new(),
            unsynced: 0,
            last_sync: Instant::now(),
        })
    }

    /// Keeps other writers out. The lock is on the file that is `head.json` then, also where another one was put in
    /// its place.
    pub(super) fn lock(&mut self, wait: Wait) -> Result<Locked<'_>, AuditError> {
        let failed = |dir: &Dir, err| AuditError::io("lock", dir.path_of(HEAD), err);
        loop {
            let locked = sys::lock(&self.head_file.file, false, wait.until);
            if !locked.map_err(|err| failed(&self.dir, err))? {
                break;
            }
            let found = self.dir.find(HEAD);
            if let Ok(Some(found)) = found
                && found.identity == self.head_file.identity
            {
                return Ok(Locked { state: self });
            }
            self.unlock();
            found?;
            self.head_file = open(&self.dir, HEAD, Access::Rewrite)?;
            self.known = None;
            if Instant::now() >= wait.until {
                break;
            }
        }
        Err(AuditError::Locked { path: self.dir.path_of(HEAD), waited: wait.bound })
    }

    fn unlock(&self) {
        // Closing the file would open the lock as well; a failure here has no remedy.
        drop(self.head_file.file.unlock());
    }

    /// Forces `audit.jsonl` onto the disk (fdatasync(2)). `head.json` is left to the system: a head that is behind is
    /// caught up with.
    pub(super) fn sync(&mut self) -> Result<(), AuditError> {
        let Some(current) = &self.current else { return Ok(()) };
        let synced = current.file.sync_data();
        synced
            .map_err(|err| AuditError::io("write to the disk", self.dir.path_of(CURRENT), err))?;
        self.unsynced = 0;
        self.last_sync = Instant::now();
        Ok(())
    }

    /// What all files take. One that goes away meanwhile counts nothing.
    pub(super) fn size(&self) -> Result<Size, AuditError> {
        let rotated = files::rotated(&self.dir)?;
        let names = rotated.into_iter().map(rotated_name).chain([CURRENT.to_owned()]);
        let mut res = Size { files: 0, bytes: 0 };
        for name in names {
            if let Some(found) = self.dir.find(&name)? {
                res.files += 1;
                res.bytes += found.bytes;
            }
        }
        Ok(res)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if self.options.fsync == Fsync::Batch && self.unsynced > 0 {
            // There is no caller left to tell.
            drop(self.sync());
        }
    }
}

fn open(dir: &Dir, name: &str, access: Access) -> Result<Opened, AuditError> {
    let missing = || AuditError::io("open", dir.path_of(name), io::ErrorKind::NotFound.into());
    let file = dir.open_file(name, access)?.ok_or_else(missing)?;
    let identity = dir.id_of(name, &file)?.identity;
    Ok(Opened { file, identity })
}

/// A writer that keeps the others out.
#[derive(Debug)]
pub(super) struct Locked<'s> {
    state: &'s mut State,
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.state
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.state
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.state.unlock();
    }
}

const CAUGHT_UP: &str = "`catch_up` comes first and fails otherwise";

impl Locked<'_> {
    /// Learns what other writers have done since, and puts in order what a killed one left behind.
    pub(super) fn catch_up(&mut self) -> Result<(), AuditError> {
        let mut block = [0; BLOCK_BYTES];
        let block = HeadFile::read_block(&self.head_file.file, &mut block);
        let block = block.map_err(|err| AuditError::io("read", self.dir.path_of(HEAD), err))?;
        let found = self.dir.find(CURRENT)?;
        if let (Some(known), Some(current), Some(found)) = (&self.known, &self.current, found)
            && known.block == *block
            && current.identity == found.identity
            && known.head.file_bytes == found.bytes
        {
            return Ok(());
        }
        self.known = None;
        self.recover(FoundHead::of_block(block), block, found)
    }

    /// The last record.
    pub(super) fn head(&self) -> Head {
        self.head_file_content().head()
    }

    /// What `head.json` says.
    pub(super) fn head_file_content(&self) -> &HeadFile {
        &self.known.as_ref().expect(CAUGHT_UP).head
    }

    /// The file that is written to.
    pub(super) fn current(&self) -> &File {
        &self.current.as_ref().expect(CAUGHT_UP).file
    }

    /// Opens the file that is written to, unless it is open.
    pub(super) fn open_current(&mut self, identity: Option<(u64, u64)>) -> Result<(), AuditError> {
        if self.current.is_none() || self.current.as_ref().map(|it| it.identity) != identity {
            self.current = Some(open(&self.dir, CURRENT, Access::Append)?);
            if identity.is_none() && self.options.fsync != Fsync::Never {
                self.dir.sync()?;
            }
        }
        Ok(())
    }

    /// Takes `head` for what the files say, with `block` in `head.json`.
    pub(super) fn set_known(&mut self, head: HeadFile, block: [u8; BLOCK_BYTES]) {
        self.known = Some(Known { head, block });
    }

    /// Appends a record, and rotates before where it is time.
    pub(super) fn append(&mut self, content: Content<'_>) -> Result<u64, AuditError> {
        let rotate_bytes = self.options.rotate_bytes;
        let file_bytes = self.head_file_content().file_bytes;
        let (head, line) = self.line(content);
        let line_bytes = line.len() as u64;
        // Without its newline.
        let bytes = line_bytes - 1;
        if bytes > MAX_RECORD_BYTES {
            return Err(AuditError::TooLarge { bytes, limit: MAX_RECORD_BYTES });
        }
        if file_bytes > 0 && file_bytes + line_bytes > rotate_bytes && self.rotate()? {
            self.prune()?;
            // It begins a file now, or comes behind the record of what was pruned.
            return self.append_here(content);
        }
        self.write_line(head)
    }

    /// Appends a record without a rotation.
    pub(super) fn append_here(&mut self, content: Content<'_>) -> Result<u64, AuditError> {
        let (head, _) = self.line(content);
        self.write_line(head)
    }

    /// Appends the line in the buffer.
    ///
    /// Returns its number.
    fn write_line(&mut self, head: Head) -> Result<u64, AuditError> {
        let line = mem::take(&mut self.buf);
        let res = self.write(&line, head);
        self.buf = line;
        // A large line is not kept for its memory.
        self.buf.shrink_to(64 * 1024);
        res.map(|()| head.seq)
    }

    /// Makes the line of the next record in the buffer.
    fn line(&mut self, content: Content<'_>) -> (Head, &[u8]) {
        let known = self.known.as_ref().expect(CAUGHT_UP);
        let Head { seq, hash } = known.head.head();
        let follows = known.head.previous_first.filter(|_| known.head.file_bytes == 0);
        let follows = follows.map(rotated_name);
        self.state.buf.clear();
        let place = Place { seq: seq + 1, prev: &hash, follows: follows.as_deref() };
        let hash = line::write(&mut self.state.buf, place, content);
        (Head { seq: seq + 1, hash }, &self.state.buf)
    }

    /// Writes bytes behind the end of the file, and notes `head` for it; after an error the file is as before.
    pub(super) fn write(&mut self, bytes: &[u8], head: Head) -> Result<(), AuditError> {
        let before = self.known.take().expect(CAUGHT_UP);
        let old_bytes = before.head.file_bytes;
        let after = before.head.with_last(head, old_bytes + bytes.len() as u64);
        let written = self.try_write(bytes, &after);
        match written {
            Ok(block) => {
                self.known = Some(Known { head: after, block });
                Ok(())
            }
            Err(err) => {
                let is_back = self.current().set_len(old_bytes).is_ok()
                    && sys::write_at(&self.head_file.file, &before.block, 0).is_ok();
                // Else the next append looks at the files again.
                self.known = is_back.then_some(before);
                Err(err)
            }
        }
    }

    /// Writes bytes, forces them onto the disk where it is time, and notes `after`. Returns what is in `head.json` then.
    fn try_write(
        &mut self,
        bytes: &[u8],
        after: &HeadFile,
    ) -> Result<[u8; BLOCK_BYTES], AuditError> {
        let written = write_whole(self.current(), bytes);
        written.map_err(|err| AuditError::io("append to", self.dir.path_of(CURRENT), err))?;
        self.unsynced += 1;
        let is_due = match self.options.fsync {
            Fsync::Never => false,
            Fsync::Batch => {
                self.unsynced >= BATCH_RECORDS || self.last_sync.elapsed() >= BATCH_TIME
            }
            Fsync::Each => true,
        };
        // The file before its head, so that the end of power leaves no head without its record.
        if is_due {
            self.sync()?;
        }
        self.write_head(after)
    }

    /// Writes `head.json`.
    pub(super) fn write_head(&self, head: &HeadFile) -> Result<[u8; BLOCK_BYTES], AuditError> {
        let block = head.to_block();
        let written = sys::write_at(&self.head_file.file, &block, 0);
        written.map_err(|err| AuditError::io("write", self.dir.path_of(HEAD), err))?;
        Ok(block)
    }

    /// Renames the file that is written to and begins another one; false where the name is taken. Whatever moment a
    /// writer is killed at, [`recover`](Self::recover) goes on from there.
    fn rotate(&mut self) -> Result<bool, AuditError> {
        let name = rotated_name(self.head_file_content().file_first);
        // No log made that file, and `verify` names it. Until it is gone, this one grows.
        if self.dir.find(&name)?.is_some() {
            return Ok(false);
        }
        if self.options.fsync != Fsync::Never {
            self.sync()?;
        }
        self.dir.rename(CURRENT, &name)?;
        let before = self.known.take().expect(CAUGHT_UP);
        let after = before.head.rotated();
        let begun = open(&self.dir, CURRENT, Access::Append).and_then(|opened| {
            self.current = Some(opened);
            self.write_head(&after)
        });
        match begun {
            Ok(block) => self.known = Some(Known { head: after, block }),
            Err(err) => {
                // Back to the file as it was, over the empty one. Where that fails too, the next append recovers.
                drop(self.dir.rename(&name, CURRENT));
                drop(sys::write_at(&self.head_file.file, &before.block, 0));
                return Err(err);
            }
        }
        if self.options.fsync != Fsync::Never {
            self.dir.sync()?;
        }
        Ok(true)
    }
}

/// One write(2). Where the system takes less, as before the end of the disk, the rest is tried for its error.
fn write_whole(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    let n_written = loop {
        match file.write(bytes) {
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            res => break res?,
        }
    };
    file.write_all(&bytes[n_written..])
}
