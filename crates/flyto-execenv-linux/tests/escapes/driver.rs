//! Starts hosts, brings some of them to their end, counts what is left, and prints the table.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, Write as _},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{self, ExitCode},
    sync::{Mutex, OnceLock, PoisonError, RwLock},
    time::Duration,
};

use flyto_execenv::{
    ExecEnv, Output, Process, RunOptions, Signal, Spec, Stdin, Target, local::Local,
};
use flyto_execenv_linux::KillMechanism;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use rustix::process::geteuid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::{
    host::{GUARD, IN_FLIGHT, NOT_HERE, PATIENCE, tool_marker},
    limit::{Limit, end_abandoned},
    processes::{Awaited, wait_for_end},
    shown::{by_way, for_a_document},
    table::{
        ATTACKS, BOMBS, Cell, KINDS, Key, MEANS, Means, ORPHANED_NAMESPACE, User, Way, is_left,
        is_promised, looks,
    },
};

/// How long a host is given, which takes some seconds: one that hangs is told of, with what it left.
const HOST_TIME: Duration = Duration::from_secs(90);

/// Processes at once below a host: of bombs few, since they keep every CPU busy.
const MANY: u32 = 400;
const FEW: u32 = 24;

/// Hosts at once, which wait most of the time.
const AT_ONCE: usize = 4;

/// A case that disturbs others runs alone.
static ALONE: RwLock<()> = RwLock::new(());

static CELLS: Mutex<BTreeMap<Key, Cell>> = Mutex::new(BTreeMap::new());

/// Makes the whole table, which takes some three minutes, when it is `all`. Otherwise calls are ended in the
/// two ways that most calls end in, and with a stopped host, and bombs go off in one of them.
const HOW_MUCH: &str = "FLYTO_ESCAPES";

pub(crate) fn run() -> ExitCode {
    end_abandoned();
    let is_whole = env::var_os(HOW_MUCH).is_some_and(|it| it == "all");
    let users = [User::Root, User::Ordinary];
    let mut trials = Vec::new();
    for user in users {
        for (means, name) in MEANS {
            let is_usual = |it: &Way| matches!(it, Way::Exit | Way::Deadline | Way::HostStopped);
            for way in Way::ALL.into_iter().filter(|it| is_whole || is_usual(it)) {
                let title = format!("{user:?}::{name}::{}", way.name()).to_lowercase();
                let title = title.replace(' ', "_");
                let bombs = if is_whole || way == Way::Deadline { BOMBS } else { &[] };
                let trial = OneTrial { user, means, name, way };
                trials.push(Trial::ignorable_test(title, move || trial.run(bombs)));
            }
        }
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    let res = libtest_mimic::run(&arguments, trials).exit_code();
    let cells = CELLS.lock().unwrap_or_else(PoisonError::into_inner);
    let text = format!("{}{}", by_way(&cells), for_a_document(&cells));
    let _ = io::stdout().write_all(text.as_bytes());
    if let Some(dir) = PROGRAMS.get() {
        let _ = fs::remove_dir_all(dir);
    }
    res
}

/// A column of one user's table.
#[derive(Clone, Copy)]
struct OneTrial<'a> {
    user: User,
    means: Means,
    name: &'a str,
    way: Way,
}

impl OneTrial<'_> {
    /// One host for kinds that leave each other alone, and one for each bomb.
    fn run(self, bombs: &[&str]) -> Result<Completion, Failed> {
        if !geteuid().is_root() {
            return skip("only root is both users");
        }
        let attacks = if self.means.mechanism == KillMechanism::Group { &[] } else { ATTACKS };
        let mut broken = {
            let _others = ALONE.read().unwrap_or_else(PoisonError::into_inner);
            match self.try_out(&[KINDS, attacks].concat(), MANY)? {
                Ok(broken) => broken,
                Err(why) => return skip(&why),
            }
        };
        for bomb in bombs {
            let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
            match self.try_out(&[*bomb], FEW)? {
                Ok(more) => broken.extend(more),
                Err(why) => return skip(&why),
            }
        }
        match broken.is_empty() {
            true => Ok(Completion::Completed),
            false => Err(broken.join("\n").into()),
        }
    }

    /// Fills cells, and tells of those that are not as promised. The inner `Err` says why it cannot be
    /// done here.
    fn try_out(
        self,
        kinds: &[&str],
        processes: u32,
    ) -> Result<Result<Vec<String>, String>, Failed> {
        let Self { user, means, name, way } = self;
        let mut limit = match Limit::new(processes) {
            Ok(limit) => limit,
            Err(err) => return Ok(Err(format!("processes cannot be limited here: {err}"))),
        };
        if user == User::Ordinary && means.mechanism == KillMechanism::Cgroup {
            limit.delegate(NOBODY)?;
        }
        let marker = format!("{}:{user:?}:{name}:{}:{}", process::id(), way.name(), kinds[0]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let res = runtime.block_on(async {
            let cells = cells(self, &marker, kinds, &limit);
            tokio::time::timeout(HOST_TIME, cells).await.unwrap_or_else(|_| {
                let all = limit.shown(&marker);
                Err(format!("{marker} hangs, and these are alive:\n{all}").into())
            })
        });
        let ended = limit.end(&marker).map_err(|it| format!("{marker}: {it}"));
        let cells = match (res?, ended?) {
            (Ok(cells), ()) => cells,
            (Err(why), ()) => return Ok(Err(why)),
        };
        let mut broken = Vec::new();
        for kind in kinds {
            let cell = cells.get(*kind).ok_or_else(|| format!("no word of {kind:?}: {cells:?}"))?;
            let tells = means.mechanism != KillMechanism::Group
                && way.leaves_the_host()
                && way != Way::Drop;
            let is_unexpected = match cell.survivors {
                // Nothing is left of it, and the host is to know that.
                0 if *kind == ORPHANED_NAMESPACE => tells && cell.is_honest(),
                0 => is_left(user, means, way, kind),
                _ => is_promised(user, means, way, kind) || tells && !cell.is_honest(),
            };
            if is_unexpected {
                broken.push(format!("{kind}: {cell:?}"));
            }
            let key = (user, means, (*kind).to_owned(), way);
            CELLS.lock().unwrap_or_else(PoisonError::into_inner).insert(key, cell.clone());
        }
        Ok(Ok(broken))
    }
}

/// The user that setpriv(1) is told.
const NOBODY: u32 = 65534;

/// In CI it is a failure: a test that never runs shows nothing.
fn skip(why: &str) -> Result<Completion, Failed> {
    match env::var_os("CI").is_some_and(|it| !it.is_empty() && it != "false" && it != "0") {
        true => Err(format!("cannot be run in CI: {why}").into()),
        false => Ok(Completion::ignored_with(why)),
    }
}

static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();

/// A directory with this program, which every user may execute, and once more as one of root's.
fn program() -> PathBuf {
    let dir = PROGRAMS.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a directory").keep();
        fs::set_permissions(&dir, PermissionsExt::from_mode(0o755)).expect("ours");
        let own = env::current_exe().expect("proc(5)");
        for (name, mode) in [("escapes", 0o755), ("as-root", 0o4755)] {
            fs::copy(&own, dir.join(name)).expect("there is room");
            fs::set_permissions(dir.join(name), PermissionsExt::from_mode(mode)).expect("ours");
        }
        dir
    });
    dir.join("escapes")
}

/// Runs a host to its end; the inner `Err` says why it cannot be done here.
async fn cells(
    OneTrial { user, means, name, way }: OneTrial<'_>,
    marker: &str,
    kinds: &[&str],
    limit: &Limit,
) -> Result<Result<BTreeMap<String, Cell>, String>, Failed> {
    let mut words: Vec<String> = match user {
        User::Root => Vec::new(),
        User::Ordinary => vec![
            "setpriv".into(),
            format!("--reuid={NOBODY}"),
            format!("--regid={NOBODY}"),
            "--clear-groups".into(),
        ],
    };
    words.extend([program().to_str().expect("ASCII").to_owned(), "host".into(), name.into()]);
    words.extend([way.name().to_owned(), marker.to_owned()]);
    words.extend(kinds.iter().map(|it| (*it).to_owned()));
    let (first, rest) = words.split_first().expect("some words");
    let spec = Spec::new(first)
        .args(rest)
        .env_var("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env_var("RUST_BACKTRACE", "1")
        .stdin(Stdin::Piped)
        .stdout(Output::Piped);
    let mut host: Process = ExecEnv::new(Local::new()).start(spec, RunOptions::new()).await?;
    let mut says = BufReader::new(host.stdout.take().expect("it is piped"));
    let mut pid = String::new();
    says.read_line(&mut pid).await?;
    limit.add(pid.trim().parse()?)?;
    host.stdin.take().expect("it is piped").write_all(b"\n").await?;

    let mut said = String::new();
    if way.leaves_the_host() {
        says.read_to_string(&mut said).await?;
    } else {
        says.read_line(&mut said).await?;
    }
    if let Some(why) = said.strip_prefix(NOT_HERE) {
        return Ok(Err(why.trim().to_owned()));
    }
    let is_in_flight = said.trim() == IN_FLIGHT;
    match way {
        Way::HostKilled if is_in_flight => host.signal(Signal::KILL, Target::Leader)?,
        // SIGSTOP.
        Way::HostStopped if is_in_flight => host.signal(Signal(19), Target::Leader)?,
        _ => {}
    }
    drop(says);
    // The deadline of a stopped host's calls has to be kept while it is stopped.
    let left_by_stopped = (is_in_flight && way == Way::HostStopped)
        .then(|| wait_for_end(&awaited(user, means, way, marker, kinds)));
    if left_by_stopped.is_some() {
        host.signal(Signal::KILL, Target::Leader)?;
    }
    let outcome = host.wait().await?;
    if way.leaves_the_host() && outcome.success() {
        return Ok(Ok(said.lines().filter_map(Cell::parse).collect()));
    }
    if !is_in_flight {
        let stderr = String::from_utf8_lossy(&outcome.stderr.bytes()).into_owned();
        return Err(format!("the host: {:?}\n{said}\n{stderr}", outcome.ending).into());
    }
    let left =
        left_by_stopped.unwrap_or_else(|| wait_for_end(&awaited(user, means, way, marker, kinds)));
    let cell = |survivors| Cell { survivors, ..Cell::default() };
    Ok(Ok(kinds.iter().map(|it| (*it).to_owned()).zip(left.into_iter().map(cell)).collect()))
}

/// The tools of a host that has come to its end.
fn awaited(user: User, means: Means, way: Way, marker: &str, kinds: &[&str]) -> Vec<Awaited> {
    let one = |kind: &&str| Awaited {
        marker: tool_marker(marker, kind),
        looks: looks(kind),
        patience: if is_promised(user, means, way, kind) { GUARD } else { PATIENCE },
    };
    kinds.iter().map(one).collect()
}
