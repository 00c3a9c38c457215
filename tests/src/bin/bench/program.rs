//! What does `flyto call` add to the time of the tool that it runs?
//!
//! 2026-11-21, AMD EPYC, 2 CPUs, Linux 6.18, pinned, at a load of 2: 3.77 [3.52, 4.26] ms where root calls, which
//! has control groups, and 2.85 [2.73, 2.95] ms where an ordinary user does.

use std::{
    env, fs,
    io::{Read, Write},
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use crate::{
    Result,
    discover::write_plugins,
    job::REQUEST_BYTES,
    machine,
    options::Options,
    programs::{Programs, program},
    statistics::{Quartiles, least},
    system::Cpus,
    table::{Reach, Table, ratio},
};

/// What the program may add with ten plugins, in ms.
const ADDED_MS: Reach = Reach::AtMost(5.0);
const N_PLUGINS: usize = 10;

/// Calls of each variant in a round, and before the first one.
const CALLS: usize = 20;
const WARM_UP: usize = 5;

/// An ordinary user: 65534 has no rights of its own on most systems.
const ORDINARY_USER: u32 = 65_534;

pub(crate) fn run(options: &Options) -> Result {
    let programs = Programs::build(options)?;
    machine::print(&programs)?;
    let cpus = Cpus::current()?;
    let place = if options.unpinned { cpus.unpin()? } else { cpus.pin()? };
    let rounds = options.rounds.unwrap_or(25);
    let calls = options.calls.min(CALLS);
    let scene = Scene::make(&programs.echo)?;
    let is_root = fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0);
    let users = if is_root {
        vec![("root", None), ("nobody", Some(ORDINARY_USER))]
    } else {
        vec![("this", None)]
    };

    let mut table = Table::new(["variant", "user", "best p50 ms", "added ms", "reach", "met"]);
    for (user, id) in users {
        let variants = [
            Variant { scene: &scene, is_direct: true, id },
            Variant { scene: &scene, is_direct: false, id },
        ];
        let mut p50s = [Vec::new(), Vec::new()];
        for _ in 0..WARM_UP {
            variants.iter().try_for_each(|it| it.call_ms().map(drop))?;
        }
        for _ in 0..rounds {
            let mut times = [Vec::new(), Vec::new()];
            for call in 0..calls {
                // In turn, each other time the other way round.
                for at in [call % 2, (call + 1) % 2] {
                    times[at].push(variants[at].call_ms()?);
                }
            }
            for (p50, times) in p50s.iter_mut().zip(times) {
                p50.push(Quartiles::of(times).median);
            }
        }
        let [direct, flyto] = &p50s;
        let added = Quartiles::of(flyto.iter().zip(direct).map(|(flyto, direct)| flyto - direct));
        let [reach, met] = ADDED_MS.cells(added);
        let best = |it: &[f64]| format!("{:.2}", least(it));
        let none = String::new;
        table.row(["the tool".into(), user.into(), best(direct), none(), none(), none()]);
        table.row(["flyto call".into(), user.into(), best(flyto), ratio(added), reach, met]);
    }
    println!(
        "\n{N_PLUGINS} plugins of one tool, {place}; {rounds} rounds of {calls} calls:\n\n{table}"
    );
    Ok(())
}

/// The files of all variants, where every user may read them.
#[derive(Debug)]
struct Scene {
    dir: tempfile::TempDir,
    input: String,
}

impl Scene {
    fn make(echo: &Path) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let plugins = dir.path().join("plugins");
        fs::create_dir(&plugins)?;
        write_plugins(&plugins, N_PLUGINS - 1, 1)?;
        let own = plugins.join("echo");
        fs::create_dir(&own)?;
        fs::copy(echo, own.join("echo"))?;
        fs::write(own.join(flyto_plugin::MANIFEST_FILE), MANIFEST)?;
        fs::copy(flyto()?, dir.path().join("flyto"))?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755))?;
        for home in HOMES {
            // Each user keeps records of calls there.
            fs::create_dir(dir.path().join(home))?;
            fs::set_permissions(dir.path().join(home), fs::Permissions::from_mode(0o777))?;
        }
        let frame = r#"{"text":""}"#.len();
        let input = format!(r#"{{"text":"{}"}}"#, "x".repeat(REQUEST_BYTES - frame));
        Ok(Self { dir, input })
    }
}

/// The home of the user that runs the benchmark, and that of another one.
const HOMES: [&str; 2] = ["home", "other-home"];

const MANIFEST: &str = r#"{
  "name": "echo",
  "version": "1.0.0",
  "description": "Says what it hears.",
  "tools": [
    {
      "name": "echo",
      "description": "Returns its input as it came.",
      "input_schema": {
        "type": "object",
        "properties": { "text": { "type": "string", "description": "Any text." } },
        "required": ["text"],
        "additionalProperties": false
      },
      "command": "./echo"
    }
  ]
}
"#;

/// The program, built beside this one.
fn flyto() -> Result<PathBuf> {
    let path = env::current_exe()?.with_file_name("flyto");
    if !path.is_file() {
        let path = path.display();
        return Err(
            format!("there is no {path}; build the package `flyto-cli` in this profile").into()
        );
    }
    Ok(path)
}

/// A way to the same output.
#[derive(Debug)]
struct Variant<'a> {
    scene: &'a Scene,
    is_direct: bool,
    /// The user that runs it, if it is another one.
    id: Option<u32>,
}

impl Variant<'_> {
    fn command(&self) -> Command {
        let dir = self.scene.dir.path();
        let mut res = if self.is_direct {
            program(dir.join("plugins/echo/echo").as_os_str())
        } else {
            let mut res = program(dir.join("flyto").as_os_str());
            res.args(["call", "--json", "-", "--plugins"])
                .arg(dir.join("plugins"))
                .arg("echo:echo");
            res
        };
        if let Some(id) = self.id {
            res.uid(id).gid(id);
        }
        let home = dir.join(HOMES[usize::from(self.id.is_some())]);
        res.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home).current_dir(dir);
        res.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        res
    }

    /// From the start of one process until it is reaped, in ms.
    fn call_ms(&self) -> Result<f64> {
        let mut command = self.command();
        let mut output = String::with_capacity(self.scene.input.len() + 1);
        let begun = Instant::now();
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        stdin.ok_or("it is a pipe")?.write_all(self.scene.input.as_bytes())?;
        stdout.ok_or("it is a pipe")?.read_to_string(&mut output)?;
        let status = child.wait()?;
        let took = begun.elapsed();
        if !status.success() || output != self.scene.input {
            return Err(format!("{command:?} ended with {status} and said {output:?}").into());
        }
        Ok(took.as_secs_f64() * 1e3)
    }
}
