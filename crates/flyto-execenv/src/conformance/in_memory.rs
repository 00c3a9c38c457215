//! The programs under test as functions, for the in-memory backend.
//!
//! [`Scripted`] has no shell, so the steps of `probe.sh` are carried out here. A named pipe is a
//! channel that counts its holders. What a real machine tells apart and memory does not, such as an
//! orphan and a child, is the same step.

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::{OsStr, OsString},
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    sync::watch,
    time::timeout,
};

use crate::{
    Exit, Signal,
    scripted::{Call, Disposition, Scripted, Writer},
};

/// How long a program that naps stays: as long as the shell script's.
const NAP: Duration = Duration::from_secs(100);

/// One block of the step `fill`, as large as the script's.
static BLOCK: [u8; 64 * 1024] = [0; 64 * 1024];

/// Gives an in-memory machine a `/bin/sh` that understands the steps of the suite's script, and a
/// `/usr/bin/env`: what [`Probe::posix_sh`](super::Probe::posix_sh) asks for.
///
/// The pipes belong to this backend and its clones.
///
/// ```
/// use flyto_execenv::{ExecEnv, conformance, scripted::Scripted};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conformance::Failure> {
/// let backend = conformance::in_memory_probe(Scripted::new());
/// let env = ExecEnv::new(backend.clone());
/// conformance::run("exit-codes-are-exact", &env, &conformance::Probe::posix_sh()).await?;
/// backend.assert_clean();
/// # Ok(()) }
/// ```
#[must_use]
pub fn in_memory_probe(backend: Scripted) -> Scripted {
    let fifos = Fifos::default();
    backend
        .program("/bin/sh", move |call| {
            let fifos = fifos.clone();
            async move {
                let Some(steps) = steps_of(&call) else { return Exit::Code(2) };
                let mut shell = Shell { call, fifos, traps: BTreeMap::new(), held: None };
                match shell.run(steps).await {
                    Ok(()) => Exit::Code(0),
                    Err(exit) => exit,
                }
            }
        })
        .program("/usr/bin/env", async |call| {
            for (name, value) in call.env.iter() {
                let line = [name.as_encoded_bytes(), b"=", value.as_encoded_bytes(), b"\n"];
                if call.stdout.write(&line.concat()).await.is_err() {
                    return Exit::Signal(Signal(13));
                }
            }
            Exit::Code(0)
        })
}

/// The steps after `-c SCRIPT NAME`, or those that a script file sets and then the ones after it.
fn steps_of(call: &Call) -> Option<VecDeque<OsString>> {
    let args = &call.args;
    if args.first()? == "-c" {
        return Some(args.iter().skip(3).cloned().collect());
    }
    let file = call.files.read(Path::new(args.first()?))?;
    let text = String::from_utf8_lossy(&file).into_owned();
    let preset = text.lines().nth(1)?.strip_prefix("set -- ")?.strip_suffix("\"$@\"")?;
    let preset = preset.split_whitespace().map(OsString::from);
    Some(preset.chain(args.iter().skip(1).cloned()).collect())
}

/// Named pipes by their paths, with what was written into each.
#[derive(Clone, Default)]
struct Fifos(Arc<Mutex<BTreeMap<OsString, watch::Sender<Fifo>>>>);

/// It can be read to its end once it was opened and has no holder any more.
#[derive(Clone, Default)]
struct Fifo {
    was_opened: bool,
    n_holders: usize,
    written: Vec<u8>,
}

impl Fifos {
    /// A path that was not used before is a new pipe.
    fn get(&self, path: &OsStr) -> watch::Sender<Fifo> {
        let mut fifos = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fifos.entry(path.to_owned()).or_insert_with(|| watch::Sender::new(Fifo::default())).clone()
    }
}

/// A named pipe held open for writing.
struct Held(watch::Sender<Fifo>);

impl Held {
    fn open(fifo: watch::Sender<Fifo>) -> Self {
        fifo.send_modify(|it| {
            it.was_opened = true;
            it.n_holders += 1;
        });
        Self(fifo)
    }

    fn write_id(&self, id: u32) {
        self.0.send_modify(|it| it.written.extend(format!("{id}\n").bytes()));
    }
}

impl Clone for Held {
    fn clone(&self) -> Self {
        Self::open(self.0.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.send_modify(|it| it.n_holders -= 1);
    }
}

/// The interpreter of the steps. `held` is the pipe that the step `hold` opened; children inherit
/// it.
struct Shell {
    call: Call,
    fifos: Fifos,
    /// What to print for a signal, and the code to exit with after it.
    traps: BTreeMap<Signal, (OsString, Option<i32>)>,
    held: Option<Held>,
}

/// The steps still to come; each step takes its words off the front.
type Steps = VecDeque<OsString>;
/// `Err` ends the program.
type Step<T> = Result<T, Exit>;

/// A step that is unknown or lacks a word.
const BAD_STEP: Exit = Exit::Code(64);

impl Shell {
    /// Boxed, since children run steps as well.
    fn run(&mut self, mut steps: Steps) -> Pin<Box<dyn Future<Output = Step<()>> + Send + '_>> {
        Box::pin(async move {
            while let Some(step) = steps.pop_front() {
                self.step(&step.to_string_lossy(), &mut steps).await?;
            }
            Ok(())
        })
    }

    /// Carries out one step that needs no files.
    async fn step(&mut self, step: &str, rest: &mut Steps) -> Step<()> {
        match step {
            "say" => self.print(line(&word(rest)?)).await,
            "warn" => write(&self.call.stderr, &line(&word(rest)?)).await,
            "args" => {
                for arg in rest.drain(..) {
                    self.print([arg.as_encoded_bytes(), b"\0"].concat()).await?;
                }
                Err(Exit::Code(0))
            }
            "cwd" => self.print(line(self.call.working_dir.as_os_str())).await,
            "descriptors" => self.print(b"0\n1\n2\n".to_vec()).await,
            "cat" => {
                let stdout = self.call.stdout.clone();
                self.copy_stdin_to(&stdout).await
            }
            "cat-to-stderr" => {
                let stderr = self.call.stderr.clone();
                self.copy_stdin_to(&stderr).await
            }
            "echo-lines" => {
                while let Some(text) = self.read_line().await {
                    self.print(format!("got {text}\n").into_bytes()).await?;
                }
                Ok(())
            }
            "answer" => {
                let text = self.read_line().await.ok_or(BAD_STEP)?;
                let (text, code) = text.split_once(' ').ok_or(BAD_STEP)?;
                self.print(format!("{text}\n").into_bytes()).await?;
                Err(Exit::Code(code.parse().map_err(|_| BAD_STEP)?))
            }
            "close-stdin" => {
                self.call.stdin = Box::new(tokio::io::empty());
                Ok(())
            }
            "close-output" => {
                (self.call.stdout, self.call.stderr) = (Writer::nowhere(), Writer::nowhere());
                Ok(())
            }
            "fill" => self.fill(number(rest)?, None).await,
            "fill-and-note" => {
                let n_blocks = number(rest)?;
                let notes = word(rest)?;
                self.fill(n_blocks, Some(&notes)).await
            }
            "burn" => number(rest).map(drop),
            "exit" => Err(Exit::Code(i32::try_from(number(rest)?).map_err(|_| BAD_STEP)?)),
            "die" => self.raise(signal(rest)?).await,
            "stop" => self.raise(Signal(19)).await,
            // It has no parent.
            "strike" => word(rest).and(word(rest)).map(drop),
            "nap" => self.nap().await,
            "become-sleep" => {
                self.traps.clear();
                self.nap().await
            }
            "chatter" => {
                for _ in 0..NAP.as_secs() {
                    self.print(b"chatter\n".to_vec()).await?;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                Ok(())
            }
            "ignore" => {
                self.call.on(signal(rest)?, Disposition::Ignore);
                Ok(())
            }
            "on" => {
                let signal = signal(rest)?;
                let (text, code) = (word(rest)?, word(rest)?);
                self.traps.insert(signal, (text, code.to_string_lossy().parse().ok()));
                self.call.on(signal, Disposition::Catch);
                Ok(())
            }
            // A program that starts a child goes on, so that being an orphan makes no difference here.
            "child" | "orphan" | "session" | "escapee" => {
                self.spawn(matches!(step, "session" | "escapee"), rest);
                Ok(())
            }
            _ => self.step_with_files(step, rest).await,
        }
    }

    /// The steps that have to do with files and named pipes.
    async fn step_with_files(&mut self, step: &str, rest: &mut Steps) -> Step<()> {
        let files = self.call.files.clone();
        match step {
            "hold" => {
                let held = Held::open(self.fifos.get(&word(rest)?));
                held.write_id(self.call.id());
                self.held = Some(held);
                Ok(())
            }
            "await" => {
                let mut fifo = self.fifos.get(&word(rest)?).subscribe();
                let closed = fifo.wait_for(|it| it.was_opened && it.n_holders == 0).await;
                let written = closed.map(|it| it.written.clone()).map_err(|_| BAD_STEP)?;
                self.print(written).await
            }
            "release" => {
                drop(Held::open(self.fifos.get(&word(rest)?)));
                Ok(())
            }
            "scratch" => {
                let dir = format!("{}/flyto.{}", word(rest)?.display(), self.call.id());
                files.create_dir(&dir);
                self.print(format!("{dir}\n").into_bytes()).await
            }
            "mkdir" => {
                files.create_dir(word(rest)?);
                Ok(())
            }
            "mkfifo" => word(rest).map(drop),
            "install" => {
                let (mode, path) = (word(rest)?, word(rest)?);
                let mut content = Vec::new();
                self.call.stdin.read_to_end(&mut content).await.map_err(|_| BAD_STEP)?;
                files.write(path, content, mode == "755");
                Ok(())
            }
            "move" => {
                let (from, to) = (word(rest)?, word(rest)?);
                files.rename(Path::new(&from), Path::new(&to));
                Ok(())
            }
            "show" => match files.read(word(rest)?) {
                Some(content) => self.print(content.to_vec()).await,
                None => Err(Exit::Code(65)),
            },
            "list" => {
                for name in files.list(word(rest)?) {
                    self.print(line(&name)).await?;
                }
                Ok(())
            }
            "remove" => {
                files.remove(word(rest)?);
                Ok(())
            }
            // The processes of one call are out of reach of another.
            "kill" => Err(Exit::Code(0)),
            _ => Err(BAD_STEP),
        }
    }

    async fn print(&mut self, bytes: Vec<u8>) -> Step<()> {
        write(&self.call.stdout, &bytes).await
    }

    async fn copy_stdin_to(&mut self, out: &Writer) -> Step<()> {
        let mut buffer = vec![0; BLOCK.len()];
        loop {
            match self.call.stdin.read(&mut buffer).await {
                Ok(0) | Err(_) => return Ok(()),
                Ok(n) => write(out, &buffer[..n]).await?,
            }
        }
    }

    async fn read_line(&mut self) -> Option<String> {
        // Without look-ahead, so that what comes after the line is still there.
        let mut text = String::new();
        let n =
            BufReader::with_capacity(1, &mut self.call.stdin).read_line(&mut text).await.ok()?;
        (n > 0).then(|| text.trim_end_matches('\n').to_owned())
    }

    async fn fill(&mut self, n_blocks: u64, notes: Option<&OsStr>) -> Step<()> {
        for n in 0..=n_blocks {
            if n > 0 {
                write(&self.call.stdout, &BLOCK).await?;
            }
            if let Some(notes) = notes {
                self.call.files.write(notes, format!("{n}\n"), false);
            }
        }
        Ok(())
    }

    /// A signal to itself takes effect when the program waits the next time.
    async fn raise(&mut self, signal: Signal) -> Step<()> {
        self.call.raise(signal);
        tokio::task::yield_now().await;
        Ok(())
    }

    /// Waits, and prints the text of each signal that comes and has a trap.
    async fn nap(&mut self) -> Step<()> {
        let nap = async {
            loop {
                let signal = self.call.caught().await;
                let Some((text, code)) = self.traps.get(&signal) else { continue };
                write(&self.call.stdout, &line(text)).await?;
                if let Some(code) = code {
                    return Err::<(), _>(Exit::Code(*code));
                }
            }
        };
        timeout(NAP, nap).await.unwrap_or(Ok(()))
    }

    /// Starts a child with the steps up to the closing bracket and takes those away.
    fn spawn(&self, escapes: bool, rest: &mut Steps) {
        rest.pop_front();
        let mut depth = 1;
        let mut steps = Steps::new();
        while let Some(step) = rest.pop_front() {
            depth += i32::from(step == "[") - i32::from(step == "]");
            if depth == 0 {
                break;
            }
            steps.push_back(step);
        }
        let (fifos, held) = (self.fifos.clone(), self.held.clone());
        let body = async move |call: Call| {
            let mut shell = Shell { call, fifos, traps: BTreeMap::new(), held };
            match shell.run(steps).await {
                Ok(()) => Exit::Code(0),
                Err(exit) => exit,
            }
        };
        let id = if escapes { self.call.spawn_session(body) } else { self.call.spawn(body) };
        if let Some(held) = &self.held {
            held.write_id(id);
        }
    }
}

/// Writes, and dies as a program does whose reader is gone.
async fn write(out: &Writer, bytes: &[u8]) -> Step<()> {
    out.write(bytes).await.map_err(|_| Exit::Signal(Signal(13)))
}

fn line(text: &OsStr) -> Vec<u8> {
    [text.as_encoded_bytes(), b"\n"].concat()
}

/// The next word of the steps.
fn word(rest: &mut Steps) -> Step<OsString> {
    rest.pop_front().ok_or(BAD_STEP)
}

/// The next word as a number.
fn number(rest: &mut Steps) -> Step<u64> {
    word(rest)?.to_string_lossy().parse().map_err(|_| BAD_STEP)
}

/// The next word as a signal, by its name without `SIG`.
fn signal(rest: &mut Steps) -> Step<Signal> {
    Ok(match &*word(rest)?.to_string_lossy() {
        "HUP" => Signal::HUP,
        "INT" => Signal::INT,
        "TERM" => Signal::TERM,
        "ALRM" => Signal(14),
        "KILL" => Signal::KILL,
        "SEGV" => Signal(11),
        _ => return Err(BAD_STEP),
    })
}
