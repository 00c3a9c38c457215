//! A proposal in the person's own editor.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use flyto_evolve::MAX_DEFINITION_BYTES;
use flyto_execenv::Environment;
use flyto_execenv::local::{DetachedSpec, start_detached};
use tokio::sync::oneshot;

/// The largest text that is taken from an editor, in bytes: what is longer is no definition.
const MAX_BYTES: u64 = 4 * MAX_DEFINITION_BYTES as u64;

/// The editor that the variables `VISUAL` and `EDITOR` name, as a command line for `sh`.
#[derive(Debug, Clone)]
pub(crate) struct Editor {
    command: String,
    env: Environment,
}

impl Editor {
    /// The editor of an environment; `None` where it names none.
    pub(crate) fn of(env: &Environment) -> Option<Self> {
        let named = ["VISUAL", "EDITOR"].iter().find_map(|it| {
            let command = env.get(it)?.to_str()?;
            (!command.trim().is_empty()).then(|| command.to_owned())
        });
        Some(Self { command: named?, env: env.clone() })
    }

    /// The text as the person leaves it. It lies in a private file meanwhile.
    ///
    /// # Errors
    ///
    /// The file cannot be made or read, or the editor cannot be started or fails.
    pub(crate) async fn edit(&self, text: &str) -> io::Result<String> {
        let (this, text) = (self.clone(), text.to_owned());
        let (sender, edited) = oneshot::channel();
        // No task of the runtime: that would be waited for at the end, and the person may never end the editor.
        thread::Builder::new().name("editor".to_owned()).spawn(move || {
            let _ = sender.send(this.edit_now(&text));
        })?;
        edited.await.unwrap_or_else(|err| Err(io::Error::other(err)))
    }

    fn edit_now(&self, text: &str) -> io::Result<String> {
        let temp = self.env.get("TMPDIR").map(PathBuf::from).filter(|it| it.is_absolute());
        let file = Private::new(&temp.unwrap_or_else(|| "/tmp".into()), text)?;
        let terminal = || io::stderr().as_fd().try_clone_to_owned();
        let streams: [OwnedFd; 3] =
            [io::stdin().as_fd().try_clone_to_owned()?, terminal()?, terminal()?];
        // The variable may have options beside the program's name, as git(1) takes it.
        let script = format!("{} \"$1\"", self.command);
        let mut spec = DetachedSpec::new("/bin/sh", streams)
            .args(["-c".as_ref(), script.as_ref(), "flyto".as_ref(), file.path.as_os_str()])
            .env(self.env.clone());
        spec.working_dir = std::env::current_dir()?;
        let ended = start_detached(spec)?.wait()?;
        if !ended.success() {
            return Err(io::Error::other(format!("the editor ended with {ended}")));
        }
        let mut res = String::new();
        if File::open(&file.path)?.take(MAX_BYTES + 1).read_to_string(&mut res)? as u64 > MAX_BYTES
        {
            return Err(io::Error::other(format!("the text has more than {MAX_BYTES} bytes")));
        }
        Ok(res)
    }
}

/// A file that no other user reads, gone with its value.
struct Private {
    path: PathBuf,
}

impl Private {
    fn new(dir: &Path, text: &str) -> io::Result<Self> {
        for n in 0..u32::MAX {
            let path = dir.join(format!("flyto-{}-{n}.json", std::process::id()));
            match File::options().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(mut file) => {
                    let res = Self { path };
                    file.write_all(text.as_bytes())?;
                    return Ok(res);
                }
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
                Err(err) => return Err(err),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
