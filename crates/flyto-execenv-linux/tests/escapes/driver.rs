//! Starts hosts, brings some of them to their end, counts what is left, and prints the table.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{self, ExitCode},
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use flyto_execenv::{
    ExecEnv, Output, Process, RunOptions, Signal, Spec, Stdin, Target, local::Local,
};
use flyto_execenv_linux::KillRung;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use rustix::process::geteuid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::{
    host::{IN_FLIGHT, NOT_HERE, tool_marker},
    limit::Limit,
    processes::wait_for_end,
    table::{ATTACKS, BOMBS, Cell, KINDS, RUNGS, User, Way, is_promised},
};

/// A backstop for broken code.
const GUARD: Duration = Duration::from_secs(60);

/// How long something is waited for that is not promised to go.
const PATIENCE: Duration = Duration::from_millis(500);

/// Processes at once below a host: of bombs few, since they keep every CPU busy.
const MANY: u32 = 400;
const FEW: u32 = 24;

type Key = (User, KillRung, String, Way);

static CELLS: Mutex<BTreeMap<Key, Cell>> = Mutex::new(BTreeMap::new());

/// Makes the whole table, which takes some ten minutes, when it is `all`. Otherwise only the rungs that end
/// trees are tried, by the two ways that most calls end in.
const HOW_MUCH: &str = "FLYTO_ESCAPES";

pub(crate) fn run() -> ExitCode {
    let is_whole = env::var_os(HOW_MUCH).is_some_and(|it| it == "all");
    let users = [User::Root, User::Nobody];
    let mut trials = Vec::new();
    for user in users {
        for (rung, name) in RUNGS.into_iter().filter(|(it, _)| is_whole || *it != KillRung::Group) {
            let is_usual = |it: &Way| matches!(it, Way::Exit | Way::Deadline);
            for way in Way::ALL.into_iter().filter(|it| is_whole || is_usual(it)) {
                let title = format!("{user:?}::{name}::{}", way.name()).to_lowercase();
                let title = title.replace(' ', "_");
                trials.push(Trial::ignorable_test(title, move || trial(user, rung, name, way)));
            }
        }
    }
    let res = libtest_mimic::run(&Arguments::from_args(), trials).exit_code();
    let cells = CELLS.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = io::stdout().write_all(shown(&cells).as_bytes());
    if let Some(dir) = PROGRAMS.get() {
        let _ = fs::remove_dir_all(dir);
    }
    res
}

/// One host for kinds that leave each other alone, and one for each bomb.
fn trial(user: User, rung: KillRung, name: &str, way: Way) -> Result<Completion, Failed> {
    let is_root = geteuid().is_root();
    match user {
        User::Nobody if !is_root => return skip("only root becomes somebody else"),
        User::Root if !is_root => return skip("the user is not root"),
        _ => {}
    }
    let attacks = if rung == KillRung::Group { &[] } else { ATTACKS };
    let together = [KINDS, attacks].concat();
    // A group cannot end what leaves it, and a bomb is not left alone.
    let bombs = if rung == KillRung::Group { &[] } else { BOMBS };
    let alone = bombs.iter().map(|it| (vec![*it], FEW));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut broken = String::new();
    for (kinds, processes) in [(together, MANY)].into_iter().chain(alone) {
        let limit = match Limit::new(processes) {
            Ok(limit) => limit,
            Err(err) => return skip(&format!("processes cannot be limited here: {err}")),
        };
        let cells = match runtime.block_on(cells(user, rung, name, way, &kinds, &limit))? {
            Ok(cells) => cells,
            Err(why) => return skip(&why),
        };
        for kind in kinds {
            let cell = cells.get(kind).ok_or_else(|| format!("no word of {kind:?}: {cells:?}"))?;
            let promised = is_promised(user, rung, way, kind);
            let tells = rung != KillRung::Group && way.leaves_the_host() && way != Way::Drop;
            if cell.survivors > 0 && (promised || tells && !cell.is_honest()) {
                writeln!(broken, "{kind}: {cell:?}")?;
            }
            let key = (user, rung, kind.to_owned(), way);
            CELLS.lock().unwrap_or_else(PoisonError::into_inner).insert(key, cell.clone());
        }
    }
    if broken.is_empty() { Ok(Completion::Completed) } else { Err(broken.into()) }
}

/// In CI it is a failure: a test that nobody runs shows nothing.
fn skip(why: &str) -> Result<Completion, Failed> {
    match env::var_os("CI").is_some_and(|it| !it.is_empty() && it != "false" && it != "0") {
        true => Err(format!("cannot be run in CI: {why}").into()),
        false => Ok(Completion::ignored_with(why)),
    }
}

static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();

/// A directory with this program, which everybody may execute, and once more as one of root's.
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

/// Runs a host to its end; `Err` says why it cannot be done here.
async fn cells(
    user: User,
    rung: KillRung,
    name: &str,
    way: Way,
    kinds: &[&str],
    limit: &Limit,
) -> Result<Result<BTreeMap<String, Cell>, String>, Failed> {
    let marker = format!("{}:{user:?}:{name}:{}:{}", process::id(), way.name(), kinds[0]);
    let cleaned = Cleaned { limit, marker: &marker };
    let mut words: Vec<String> = match user {
        User::Root => Vec::new(),
        User::Nobody => ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            .map(str::to_owned)
            .to_vec(),
    };
    words.extend([program().to_str().expect("ASCII").to_owned(), "host".into(), name.into()]);
    words.extend([way.name().to_owned(), marker.clone()]);
    words.extend(kinds.iter().map(|it| (*it).to_owned()));
    let (first, rest) = words.split_first().expect("some words");
    let spec = Spec::new(first)
        .args(rest)
        .env_var("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env_var("RUST_BACKTRACE", "1")
        .stdin(Stdin::Piped)
        .stdout(Output::Piped)
        .deadline(3 * GUARD);
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
    let mut res: BTreeMap<String, Cell> = said.lines().filter_map(Cell::parse).collect();
    if way.leaves_the_host() {
        let outcome = host.wait().await?;
        let stderr = String::from_utf8_lossy(&outcome.stderr.bytes()).into_owned();
        if !outcome.success() {
            return Err(format!("the host: {:?}\n{stderr}", outcome.ending).into());
        }
    } else {
        if said.trim() != IN_FLIGHT {
            let outcome = host.wait().await?;
            let stderr = String::from_utf8_lossy(&outcome.stderr.bytes()).into_owned();
            return Err(format!("the host says {said:?}\n{stderr}").into());
        }
        if way == Way::HostKilled {
            host.signal(Signal::KILL, Target::Leader)?;
        }
        drop(says);
        host.wait().await?;
        for kind in kinds {
            let promised = is_promised(user, rung, way, kind);
            let patience = if promised { GUARD } else { PATIENCE };
            let survivors = wait_for_end(&tool_marker(&marker, kind), patience);
            res.insert((*kind).to_owned(), Cell { survivors, ..Cell::default() });
        }
    }
    drop(cleaned);
    Ok(Ok(res))
}

/// Whatever was left is ended at the end.
struct Cleaned<'a> {
    limit: &'a Limit,
    marker: &'a str,
}

impl Drop for Cleaned<'_> {
    fn drop(&mut self) {
        self.limit.end(self.marker);
    }
}

fn shown(cells: &BTreeMap<Key, Cell>) -> String {
    let mut res = String::new();
    let kinds: Vec<_> = [KINDS, BOMBS, ATTACKS].concat();
    for user in [User::Root, User::Nobody] {
        for (rung, name) in RUNGS {
            if !cells.keys().any(|it| (it.0, it.1) == (user, rung)) {
                continue;
            }
            let _ = write!(res, "\n{:34}", format!("{user:?}, {name}: survivors"));
            for way in Way::ALL {
                let _ = write!(res, "{:>12}", way.name());
            }
            res.push('\n');
            for kind in &kinds {
                let cell = |way| cells.get(&(user, rung, (*kind).to_owned(), way));
                let row: Vec<_> = Way::ALL.into_iter().map(cell).collect();
                if row.iter().all(Option::is_none) {
                    continue;
                }
                let _ = write!(res, "  {kind:32}");
                for cell in &row {
                    let text = cell.map_or("-".into(), ToString::to_string);
                    let _ = write!(res, "{text:>12}");
                }
                let said =
                    row.iter().flatten().map(|it| it.said.as_str()).find(|it| !it.is_empty());
                let _ = writeln!(res, "{}", said.map_or(String::new(), |it| format!("  {it}")));
            }
        }
    }
    if !res.is_empty() {
        res.push_str("\n?: the outcome says that not everything is known to be gone\n");
    }
    res
}
