//! How long does a start take with a store of 200 tools?
//!
//! `cargo xtask bench store [--rounds=N]`. Each tool has two versions and a script of 2 KiB. Every measurement is the first and
//! only one of its process, as a start is; the files are in the cache. The reach is 100 ms.
//!
//! On 2026-11-23, 2 virtual CPUs (AMD EPYC) at a load of 9: a start takes 44 to 61 ms of processor time, of which 7 ms go to
//! reading the files, and 131 to 267 ms by the clock, for it waits for a CPU most of the time. While a start computed seven
//! hashes of each definition, it took 77 to 92 ms of processor time.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a person reads the result")]

use std::{
    error::Error, fs, hint::black_box, path::Path, process::ExitCode, sync::Arc, time::Instant,
};

use flyto_evolve::{
    Approval, Change, HostContext, MAX_ACTIVE_TOOLS, NewVersion, Store, ToolBuilder, ToolDefinition,
};
use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_tools::Registry;
use serde_json::json;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// How many processes measure each variant, unless an argument says so.
const ROUNDS: usize = 25;
/// The longest start that is well, in milliseconds.
const REACH_MS: f64 = 100.0;
/// The first argument of a process that measures.
const MEASURE: &str = "measure";

/// What is measured, by its name in the table.
type Variant = (&'static str, fn(&Path) -> Result);

const VARIANTS: [Variant; 2] =
    [("every file is read", read_files), ("every tool can be called", load)];

fn main() -> ExitCode {
    // `cargo bench` says `--bench` to each.
    let args: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        [MEASURE, variant, dir] => measure(variant, Path::new(dir)),
        [] => compare(ROUNDS),
        [option] => match option.strip_prefix("--rounds=").map(str::parse) {
            Some(rounds) => rounds.map_err(Into::into).and_then(compare),
            None => Err(format!("unknown option {option}; known: --rounds=N").into()),
        },
        _ => Err("there is one option: --rounds=N".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("bench: {err}");
            ExitCode::FAILURE
        }
    }
}

/// Measures every variant once in each round, each in a process of its own, and prints a table.
fn compare(rounds: usize) -> Result {
    let temp = tempfile::tempdir()?;
    let dir = temp.path().join("evolution");
    let n_bytes = fill(&dir)?;
    println!("{MAX_ACTIVE_TOOLS} tools, {} KiB in all, {rounds} rounds\n", n_bytes / 1024);
    let mut times = VARIANTS.map(|_| Vec::new());
    for round in 0..rounds {
        for at in 0..VARIANTS.len() {
            let at = (at + round) % VARIANTS.len();
            times[at].push(measured_elsewhere(VARIANTS[at].0, &dir)?);
        }
    }
    println!("| until | median ms | quartiles ms | reach | met |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for ((name, _), mut times) in VARIANTS.into_iter().zip(times) {
        times.sort_by(f64::total_cmp);
        let of = |quarter: usize| times.get(times.len() * quarter / 4).or(times.last());
        let at = |quarter| of(quarter).copied().ok_or("there was no round");
        let (lower, median, upper) = (at(1)?, at(2)?, at(3)?);
        let is_met = if upper <= REACH_MS { "yes" } else { "no" };
        println!(
            "| {name} | {median:.1} | {lower:.1} to {upper:.1} | ≤ {REACH_MS:.0} | {is_met} |"
        );
    }
    Ok(())
}

/// Fills a store as proposals do, and says how many bytes its files have.
fn fill(dir: &Path) -> Result<u64> {
    let store = Store::new(dir);
    let body = "printf '%s\\n' \"$TOOL_INPUT_PATH\" | sort -u | head -n \"$TOOL_INPUT_LIMIT\"\n";
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file that is looked through."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    for n in 0..MAX_ACTIVE_TOOLS {
        for version in 1..=2_u64 {
            let script = format!("# tool {n}, version {version}\n{}", body.repeat(30));
            let what = "Prints the lines of a file in order, each once, up to a limit.";
            let def = ToolDefinition::script(format!("sorted_lines_{n:03}"), what, script)
                .with_input_schema(schema.clone());
            let approval = Approval::now("ada", def.hash());
            let base = (version > 1).then_some(version - 1);
            store.commit(NewVersion::new(def, base, Change::Created).approved(approval))?;
        }
    }
    n_bytes_below(dir)
}

fn n_bytes_below(dir: &Path) -> Result<u64> {
    let mut res = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        res += match entry.file_type()?.is_dir() {
            true => n_bytes_below(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(res)
}

/// Has another process of this program measure a variant, and gives its milliseconds.
fn measured_elsewhere(variant: &str, dir: &Path) -> Result<f64> {
    #[expect(clippy::disallowed_methods, reason = "it is this program, without any backend")]
    let mut command = std::process::Command::new(std::env::current_exe()?);
    let output = command.arg(MEASURE).arg(variant).arg(dir).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

fn measure(variant: &str, dir: &Path) -> Result {
    let run = VARIANTS.iter().find(|it| it.0 == variant).ok_or("there is no such variant")?.1;
    let began = Instant::now();
    run(dir)?;
    println!("{}", began.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// What no start can do without: the bytes of all files.
fn read_files(dir: &Path) -> Result {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => read_files(&entry.path())?,
            false => drop(black_box(fs::read(entry.path())?)),
        }
    }
    Ok(())
}

/// A start: the tools are checked and registered.
fn load(dir: &Path) -> Result {
    let host = HostContext::new(Environment::new(), "/tmp");
    let registry = Arc::new(Registry::new());
    let env = ExecEnv::new(Local::new());
    let builder = ToolBuilder::builder(Store::new(dir), env, host, Arc::clone(&registry)).build();
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let report = runtime.block_on(builder.load_all())?;
    match report.loaded.len() == MAX_ACTIVE_TOOLS && report.damaged.is_empty() {
        true => Ok(()),
        false => Err(format!("not all tools are loaded: {report:?}").into()),
    }
}
