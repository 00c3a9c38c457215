//! What a start promises.
//!
//! Most cases install their own programs through the backend, start them, and compare what they
//! print. A case that expects a refusal also looks that nothing ran: the error says so
//! ([`ExecError::did_start`](crate::ExecError::did_start)), and a marker that the program would
//! have made is not there.

use std::ffi::OsString;

use tokio::task::JoinSet;

use super::{
    ctx::Ctx,
    failure::{Failure, ensure, equal, summary},
};
use crate::{
    Capability, Ending, Environment, ExecErrorKind, Exit, Filesystem, Isolation, KillScope, Limits,
    LocalSockets, Network, Output, Processes, Program, Sha256, SharedMemory, ShippedFile, Spec,
    Stdin, SystemCalls,
};

/// Programs that are written and start at once.
///
/// Enough that one start falls between the fork and the execution of another.
const AT_ONCE: usize = 200;

/// Words that a shell would split, expand or drop, and empty ones, come back with a zero byte
/// behind each. Bytes that are not UTF-8 are sent where they are declared, and refused elsewhere.
pub(super) async fn argv_verbatim(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let mut words: Vec<OsString> = [
        "plain",
        "",
        " two  blanks ",
        "'\"`\\",
        "$HOME $(id) ${x} `id` *",
        "-rf",
        "--",
        "a\nb\tc",
        "ä€𝄞",
        "%s\\n",
        "",
    ]
    .map(OsString::from)
    .into();
    let odd = not_utf8();
    if ctx.has(Capability::NonUtf8) {
        words.push(odd);
    } else {
        let spec = ctx.probe.spec(["args"]).arg(odd).kill(ctx.scope());
        ctx.refused(spec, ExecErrorKind::Unsupported).await?;
    }
    let spec = ctx.probe.spec(["args"]).args(&words).kill(ctx.scope());
    let output = ctx.output_of(spec).await?;
    let arrived: Vec<&[u8]> = output.split(|it| *it == 0).collect();
    let sent: Vec<&[u8]> = words.iter().map(|it| it.as_encoded_bytes()).chain([&b""[..]]).collect();
    equal("arguments", arrived, sent)
}

/// Bytes that are no UTF-8, where the host can say such a thing; else plain text.
fn not_utf8() -> OsString {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStringExt::from_vec(vec![b'a', 0xff, 0xc3, b'z']);
    #[cfg(not(unix))]
    return OsString::from("z");
}

/// Runs `env` with no variable and with four, one of them empty and one with blanks and quotes; the
/// sorted output must be the same. A backend that adds a variable of its own fails.
pub(super) async fn env_starts_empty(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let env = |pairs: &[(&str, &str)]| -> Environment { pairs.iter().copied().collect() };
    let no_variable = env(&[]);
    let some = env(&[("A", "1"), ("EMPTY", ""), ("HOME", "/nowhere"), ("Q", "a b='$A' \"")]);
    for env in [no_variable, some] {
        let mut expected: Vec<String> = env
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        expected.sort();
        let spec = Spec::new(ctx.probe.env_program_path()).env(env).kill(ctx.scope());
        let output = ctx.output_of(spec).await?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let mut seen: Vec<String> = text.lines().map(str::to_owned).collect();
        seen.sort();
        equal("environment", seen, expected)?;
    }
    Ok(())
}

/// Two directories of the `PATH` have a program of the name, and one before them a file that may
/// not be executed: the first that may be executed runs. `cat`, `env` and `sh` must not be found in
/// an empty directory, nor without `PATH`.
pub(super) async fn lookup_is_the_specs(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let (first, second) = (ctx.mkdir("first").await?, ctx.mkdir("second").await?);
    let (empty, name) = (ctx.mkdir("empty").await?, "flyto-named-probe");
    for (dir, text) in [(&first, "first"), (&second, "second")] {
        let content = ctx.probe.executable(&["say", text]);
        ctx.install(&format!("{dir}/{name}"), "755", content).await?;
    }
    ctx.install(&format!("{empty}/{name}"), "644", ctx.probe.executable(&[])).await?;

    // It is found in the spec's PATH, which the host does not have; the first hit that may be
    // executed counts.
    let path = format!("{empty}:{first}:{second}:{}", ctx.probe.path_value());
    let output = ctx.output_of(ctx.tool(name, &[]).env_var("PATH", path)).await?;
    equal("what ran", String::from_utf8_lossy(&output).trim_end(), "first")?;

    // What the host finds on a PATH of its own is not found here.
    for common in ["cat", "env", "sh"] {
        let spec = Spec::new(common).kill(ctx.scope());
        ctx.refused(spec.clone().env_var("PATH", &empty), ExecErrorKind::ProgramNotFound).await?;
        ctx.refused(spec, ExecErrorKind::ProgramNotFound).await?;
    }
    Ok(())
}

/// `./tool`, `sub/tool` and `sub/../tool` lead to different files below the working directory, and
/// from another directory to none.
pub(super) async fn relative_program_is_in_the_working_dir(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let dir = ctx.mkdir("dir").await?;
    let sub = format!("{dir}/sub");
    ctx.text(&["mkdir", &sub]).await?;
    for (dir, text) in [(&dir, "outer"), (&sub, "inner")] {
        let content = ctx.probe.executable(&["say", text]);
        ctx.install(&format!("{dir}/tool"), "755", content).await?;
    }
    for (program, expected) in
        [("./tool", "outer"), ("sub/tool", "inner"), ("sub/../tool", "outer")]
    {
        let output = ctx.output_of(ctx.tool(program, &[]).working_dir(&dir)).await?;
        equal(program, String::from_utf8_lossy(&output).trim_end(), expected)?;
    }
    let elsewhere = ctx.tool("./tool", &[]).working_dir(ctx.scratch().await?);
    ctx.refused(elsewhere, ExecErrorKind::ProgramNotFound).await
}

/// The program prints its directory: the root, and one with blanks in its name.
pub(super) async fn working_dir_is_the_specs(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let dir = ctx.mkdir("a directory with blanks").await?;
    for dir in ["/", &dir] {
        let output = ctx.output_of(ctx.spec(&["cwd"]).working_dir(dir)).await?;
        equal("working directory", String::from_utf8_lossy(&output).trim_end(), dir)?;
    }
    Ok(())
}

/// After a call that ended, one that was cancelled and one that was dropped, the directory is
/// empty.
pub(super) async fn working_dir_stays_clean(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let dir = ctx.mkdir("dir").await?;
    let at = |steps: &[&str]| ctx.spec(steps).working_dir(&dir);
    ctx.run(at(&["cat", "exit", "3"]).stdin_bytes("input")).await?;
    ctx.cancelled(at(&["say", "ready", "nap"])).await?;
    ctx.dropped(at(&["say", "ready", "nap"])).await?;
    equal("files in the working directory", ctx.text(&["list", &dir]).await?, String::new())
}

/// Absolute, relative, and a bare name.
pub(super) async fn missing_program(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let scratch = ctx.scratch().await?;
    for program in [&format!("{scratch}/nothing"), "./nothing", "flyto-nothing"] {
        let spec = ctx.tool(program, &[]).working_dir(scratch);
        ctx.refused(spec, ExecErrorKind::ProgramNotFound).await?;
    }
    Ok(())
}

/// A file with mode 644, by its path, relative, and by a bare name on the `PATH`.
pub(super) async fn not_executable(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let dir = ctx.mkdir("dir").await?;
    ctx.install(&format!("{dir}/plain"), "644", ctx.probe.executable(&[])).await?;
    for program in [&format!("{dir}/plain"), "./plain", "plain"] {
        let spec = ctx.tool(program, &[]).working_dir(&dir).env_var("PATH", &dir);
        ctx.refused(spec, ExecErrorKind::NotExecutable).await?;
    }
    Ok(())
}

/// By an absolute path, and as `./`.
pub(super) async fn directory_as_program(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let dir = ctx.mkdir("dir").await?;
    for program in [dir.as_str(), "."] {
        let spec = ctx.tool(program, &[]).working_dir(&dir);
        // A program without a slash is a name, so that `.` has one here.
        let spec = if program == "." { Spec { program: "./".into(), ..spec } } else { spec };
        ctx.refused(spec, ExecErrorKind::IsDirectory).await?;
    }
    Ok(())
}

/// A script whose `#!` line names a file that is not there: the system says the same as for a
/// missing program (`ENOENT`, execve(2)), and the kinds must differ all the same.
pub(super) async fn bad_interpreter(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let script = ctx.path("script").await?;
    ctx.install(&script, "755", format!("#!{script}-interpreter\n")).await?;
    ctx.refused(ctx.tool(&script, &[]), ExecErrorKind::BadInterpreter).await
}

/// One directory that is missing, and a file in the place of one.
pub(super) async fn bad_working_dir(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let (missing, file) = (ctx.path("missing").await?, ctx.path("file").await?);
    ctx.install(&file, "644", "no directory").await?;
    for dir in [missing, file] {
        let spec = ctx.spec(&["say", "ran"]).working_dir(dir);
        ctx.refused(spec, ExecErrorKind::BadWorkingDir).await?;
    }
    Ok(())
}

/// [`AT_ONCE`] programs are written and started beside each other. A start that forks while another
/// thread has a file open for writing makes that file busy (`ETXTBSY`, execve(2)); a backend has to
/// try again.
pub(super) async fn just_written_program_runs(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let mut calls = JoinSet::new();
    for n in 0..AT_ONCE {
        let file = ctx.path("tool").await?;
        let mode_and_path = ["install", "755", &file];
        let write = ctx.spec(&mode_and_path).stdin_bytes(ctx.probe.executable(&[]));
        let run = ctx.tool(&file, &["say", &n.to_string()]);
        let env = ctx.env.clone();
        calls.spawn(async move {
            env.run(write).await?;
            Ok::<_, Failure>((n, env.run(run).await?))
        });
    }
    while let Some(joined) = calls.join_next().await {
        let (n, outcome) = joined.map_err(|err| Failure::new(err.to_string()))??;
        let expected = format!("{n}\n").into_bytes();
        ensure(outcome.success() && outcome.stdout.bytes() == expected, || {
            format!("program {n} of {AT_ONCE}: {}", summary(&outcome))
        })?;
    }
    Ok(())
}

/// Lists the open descriptors with input, without, and without error output: 0, 1 and 2 are all
/// there is.
pub(super) async fn no_extra_descriptors(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let with_input = ctx.spec(&["descriptors"]).stdin_bytes("input");
    let silent = ctx.spec(&["descriptors"]).stderr(Output::Null);
    for spec in [ctx.spec(&["descriptors"]), with_input, silent] {
        let output = ctx.output_of(spec).await?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let mut open: Vec<&str> = text.lines().collect();
        open.sort_unstable();
        equal("open descriptors", open, vec!["0", "1", "2"])?;
    }
    Ok(())
}

/// A program that reads to the end of its input ends at once, without input and with an empty one.
/// A backend that hands on the host's terminal leaves it waiting until the deadline.
pub(super) async fn stdin_is_never_the_hosts(ctx: &Ctx<'_>) -> Result<(), Failure> {
    for stdin in [Stdin::Null, Stdin::Bytes(bytes::Bytes::new())] {
        let spec = ctx.spec(&["cat", "say", "end"]).stdin(stdin).deadline(ctx.patience());
        let outcome = ctx.run(spec).await?;
        equal("ending", outcome.ending, Ending::Exited(Exit::Code(0)))?;
        equal("output", &*outcome.stdout.bytes(), b"end\n")?;
    }
    Ok(())
}

/// Zero bytes in the program, an argument and a variable, a variable with `=` in its name and one
/// without a name, a relative working directory.
pub(super) async fn impossible_specs_are_refused(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let marker = ctx.path("ran").await?;
    let spec = || ctx.spec(&["mkdir", &marker]);
    let impossible = [
        Spec { program: "".into(), ..spec() },
        Spec { program: "/bin/sh\0x".into(), ..spec() },
        spec().arg("a\0b"),
        spec().env_var("A", "\0"),
        spec().env_var("A=B", "c"),
        spec().env_var("", "c"),
        spec().working_dir("relative"),
    ];
    for spec in impossible {
        ctx.refused(spec, ExecErrorKind::InvalidSpec).await?;
    }
    nothing_ran(ctx, &marker).await
}

/// For each capability that is not declared and that a spec can demand, one spec that demands it.
pub(super) async fn undeclared_is_refused(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let marker = ctx.path("ran").await?;
    for capability in Capability::ALL {
        let spec = ctx.spec(&["mkdir", &marker]);
        let Some(spec) = demanding(*capability, spec) else { continue };
        if ctx.has(*capability) {
            continue;
        }
        // With piped streams only `start` is possible, which every other spec may use as well.
        match ctx.env.start(spec, crate::RunOptions::new()).await {
            Ok(_) => return Err(Failure::new(format!("{capability} is not declared, and it ran"))),
            Err(err) => {
                Ctx::is_refusal(capability.name(), &err, ExecErrorKind::Unsupported)?;
            }
        }
    }
    nothing_ran(ctx, &marker).await
}

/// # Errors
///
/// The marker that a refused program would have made is in the scratch directory.
pub(super) async fn nothing_ran(ctx: &Ctx<'_>, marker: &str) -> Result<(), Failure> {
    let files = ctx.text(&["list", ctx.scratch().await?]).await?;
    let name = marker.rsplit('/').next().unwrap_or(marker);
    ensure(!files.lines().any(|it| it == name), || "a refused program ran".to_owned())
}

/// `spec` with a demand for `capability`; `None` where no spec demands it, since it is something that
/// a backend reports or that a caller does later.
fn demanding(capability: Capability, spec: Spec) -> Option<Spec> {
    use Capability as C;
    let limited = |limits| spec.clone().limits(limits);
    let isolated = |isolation| spec.clone().isolation(isolation);
    let limits = Limits::new;
    Some(match capability {
        C::GroupKill => spec.kill(KillScope::Group),
        C::TreeKill => spec.kill(KillScope::Tree),
        C::Grace => spec.grace(std::time::Duration::from_secs(1)),
        C::PipedStreams => spec.stdin(Stdin::Piped),
        C::MergedStderr => spec.merge_stderr(),
        C::NonUtf8 => {
            let odd = not_utf8();
            // Where the host has no such strings, there is nothing to refuse.
            odd.to_str().is_none().then(|| spec.arg(odd))?
        }
        C::PinnedProgram => {
            let path = spec.program.as_os_str().into();
            Spec { program: Program::Pinned { path, sha256: Sha256([0; 32]) }, ..spec }
        }
        C::ShippedFiles => spec.ship(ShippedFile::new("/nowhere", Sha256([0; 32]))),
        C::CpuLimit => limited(limits().cpu_time(std::time::Duration::from_secs(60))),
        C::MemoryLimit => limited(limits().memory_bytes(1 << 30)),
        C::ProcessLimit => limited(limits().processes(100)),
        C::FileSizeLimit => limited(limits().file_size_bytes(1 << 30)),
        C::OpenFilesLimit => limited(limits().open_files(100)),
        C::NetworkOff => isolated(Isolation::new().network(Network::Off)),
        C::NetworkHosts => isolated(Isolation::new().network(Network::Hosts(Vec::new()))),
        C::LocalSocketsOff => isolated(Isolation::new().local_sockets(LocalSockets::Off)),
        C::FilesystemDenials => isolated(Isolation::new().deny("/nowhere")),
        C::FilesystemReadOnly => isolated(Isolation::new().read_only("/nowhere")),
        C::SystemCallFilter => isolated(Isolation::new().system_calls(SystemCalls::Restricted)),
        C::ProcessIsolation => isolated(Isolation::new().processes(Processes::Own)),
        C::OwnSharedMemory => isolated(Isolation::new().shared_memory(SharedMemory::Own)),
        C::FilesystemGrants => {
            let everything: std::sync::Arc<[_]> = ["/".into()].into();
            let grants = Filesystem::Grants { read: everything.clone(), write: everything };
            isolated(Isolation::new().filesystem(grants))
        }
        C::Signals
        | C::CpuUsage
        | C::TreeCpuUsage
        | C::PeakMemory
        | C::LeakCount
        | C::EndsWithHost => return None,
    })
}
