//! What isolation of files, processes and system calls promises. The network has a file of its own.
//!
//! A case lists attempts, each with the answer that is expected: what is allowed must come off,
//! what is denied must fail. All of them are made by one isolated program, and afterwards the files
//! that were out of reach are compared with what they were: an attempt that says that it failed and
//! changed something is found out.

use std::{future::pending, path::PathBuf};

use tokio::sync::mpsc;

use super::{
    ctx::{Ctx, READY},
    end::lines_until,
    failure::{Failure, ensure, equal, summary},
};
use crate::{
    Capability, Ending, ExecErrorKind, Exit, Filesystem, Isolation, Processes, RunOptions, Spec,
    SystemCalls,
};

/// What a program is not to see.
const SECRET: &str = "flyto-canary";

/// What a program tries, and whether it is to come off.
///
/// The steps are those of the suite's script.
struct Attempt {
    steps: Vec<String>,
    is_allowed: bool,
}

fn steps<const N: usize>(steps: [&str; N]) -> Vec<String> {
    steps.map(str::to_owned).into()
}

/// What must come off.
fn allowed<const N: usize>(it: [&str; N]) -> Attempt {
    Attempt { steps: steps(it), is_allowed: true }
}

/// What must fail.
fn denied<const N: usize>(it: [&str; N]) -> Attempt {
    Attempt { steps: steps(it), is_allowed: false }
}

/// Lets one isolated program try all of it, each in a shell of its own.
///
/// # Errors
///
/// The first attempt with the wrong answer.
async fn check(ctx: &Ctx<'_>, isolation: Isolation, attempts: &[Attempt]) -> Result<(), Failure> {
    let mut all = Vec::new();
    for (n, attempt) in attempts.iter().enumerate() {
        all.extend(["try".to_owned(), n.to_string(), "[".to_owned()]);
        all.extend(attempt.steps.iter().cloned());
        all.push("]".to_owned());
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let printed = ctx.output_of(ctx.spec(&all).isolation(isolation)).await?;
    let printed = String::from_utf8_lossy(&printed).into_owned();
    let came_off: Vec<_> = printed.lines().map(|it| it.ends_with(" done")).collect();
    equal("attempts", came_off.len(), attempts.len())?;
    for (attempt, came_off) in attempts.iter().zip(came_off) {
        ensure(came_off == attempt.is_allowed, || {
            let (what, shown) = (attempt.steps.join(" "), if came_off { "done" } else { "failed" });
            format!("{what}: {shown}, and allowed is {}", attempt.is_allowed)
        })?;
    }
    Ok(())
}

/// A directory with a file `file`, in which `text` stands.
async fn directory(ctx: &Ctx<'_>, name: &str, text: &str) -> Result<String, Failure> {
    let dir = ctx.mkdir(name).await?;
    ctx.install(&format!("{dir}/file"), "644", text.to_owned()).await?;
    Ok(dir)
}

/// Expects that nothing has changed in what [`directory`] made.
async fn is_untouched(ctx: &Ctx<'_>, dir: &str, text: &str) -> Result<(), Failure> {
    equal("files that were out of reach", ctx.text(&["list", dir]).await?, "file\n".to_owned())?;
    let content = ctx.text(&["show", &format!("{dir}/file")]).await?;
    equal("a file that was out of reach", content.as_str(), text)
}

/// What lets the suite's programs run, what they may read, and what they may write.
///
/// What the probe says that its programs need is always among it, and so is `/dev/null`.
fn grants(ctx: &Ctx<'_>, read: &[&str], write: &[&str]) -> Filesystem {
    let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
    let system = ctx.probe.system_paths().iter().map(PathBuf::from);
    Filesystem::Grants {
        read: system.chain(paths(read)).collect(),
        write: paths(&[&["/dev/null"], write].concat()).into(),
    }
}

/// One directory is granted for reading, one for writing, a third one is not. Links of both kinds,
/// `..` and renaming are the ways around.
pub(super) async fn files_stay_in_the_grants(ctx: &Ctx<'_>) -> Result<(), Failure> {
    if !ctx.has(Capability::FilesystemGrants) {
        let isolation = Isolation::new().filesystem(grants(ctx, &[], &[]));
        return refused(ctx, isolation).await;
    }
    let open = &directory(ctx, "open", "may be read\n").await?;
    let own = &directory(ctx, "own", "may be written\n").await?;
    let closed = &directory(ctx, "closed", SECRET).await?;
    let [secret, fixed] = [closed, open].map(|it| format!("{it}/file"));
    let (secret, fixed) = (secret.as_str(), fixed.as_str());
    let [a, b, c, d, e, f, g] = ["a", "b", "c", "d", "e", "f", "g"].map(|it| format!("{own}/{it}"));
    let [beside, taken, dir] = ["new", "taken", "dir"].map(|it| format!("{closed}/{it}"));
    let attempts = [
        allowed(["show", fixed]),
        allowed(["list", open]),
        allowed(["put", &a, "text", "append", &a, "more", "show", &a]),
        allowed(["move", &a, &b, "delete", &b]),
        // What is not granted can be neither read nor changed.
        denied(["show", secret]),
        denied(["list", closed]),
        denied(["put", &beside, "text"]),
        denied(["put", secret, "text"]),
        denied(["append", secret, "text"]),
        denied(["empty", secret]),
        denied(["delete", secret]),
        denied(["mkdir", &dir]),
        denied(["move", secret, &c]),
        denied(["move", &format!("{own}/file"), &taken]),
        // Another name for it makes no difference.
        denied(["show", &format!("{own}/../{}/file", name_of(closed))]),
        denied(["symlink", secret, &d, "show", &d]),
        denied(["symlink", secret, &e, "put", &e, "text"]),
        denied(["link", secret, &f, "show", &f]),
        // What may be read stays as it is.
        denied(["put", fixed, "text"]),
        denied(["append", fixed, "text"]),
        denied(["empty", fixed]),
        denied(["delete", fixed]),
        denied(["put", &format!("{open}/new"), "text"]),
        denied(["link", fixed, &g, "append", &g, "text"]),
    ];
    let isolation = Isolation::new().filesystem(grants(ctx, &[open], &[own]));
    check(ctx, isolation, &attempts).await?;
    is_untouched(ctx, closed, SECRET).await?;
    is_untouched(ctx, open, "may be read\n").await
}

/// With the host's files, and within a granted directory where grants are declared. Renaming the
/// denied directory, or the one above, must not open it.
pub(super) async fn denied_paths_are_closed(ctx: &Ctx<'_>) -> Result<(), Failure> {
    if !ctx.has(Capability::FilesystemDenials) {
        return refused(ctx, Isolation::new().deny("/nowhere")).await;
    }
    let granted = ctx.has(Capability::FilesystemGrants);
    for is_granted in [false].into_iter().chain(granted.then_some(true)) {
        let home = &directory(ctx, "home", "beside it\n").await?;
        let [closed, open] = ["closed", "open"].map(|it| format!("{home}/{it}"));
        ctx.text(&["mkdir", &closed, "mkdir", &open]).await?;
        let secret = &format!("{closed}/file");
        ctx.install(secret, "644", SECRET).await?;
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|it| format!("{open}/{it}"));
        let (moved_home, moved) = (format!("{home}-moved"), format!("{open}/moved"));
        let attempts = [
            allowed(["show", &format!("{home}/file")]),
            allowed(["put", &a, "text", "show", &a]),
            denied(["show", secret]),
            denied(["list", &closed]),
            denied(["put", secret, "text"]),
            denied(["append", secret, "text"]),
            denied(["empty", secret]),
            denied(["delete", secret]),
            denied(["put", &format!("{closed}/new"), "text"]),
            denied(["show", &format!("{open}/../closed/file")]),
            denied(["symlink", secret, &b, "show", &b]),
            denied(["link", secret, &c, "show", &c]),
            denied(["move", secret, &d, "show", &d]),
            // Under another name it is as closed.
            denied(["move", &closed, &moved, "show", &format!("{moved}/file")]),
            denied(["move", home, &moved_home, "show", &format!("{moved_home}/closed/file")]),
        ];
        let isolation = Isolation::new().deny(&closed);
        let isolation = match is_granted {
            true => isolation.filesystem(grants(ctx, &[], &[home])),
            false => isolation,
        };
        check(ctx, isolation, &attempts).await?;
        is_untouched(ctx, &closed, SECRET).await?;
    }
    Ok(())
}

/// What must stay as it is: a directory, and a file two directories further down; beside both, what may be
/// changed. Whether new entries can be made right beside them is the backend's choice.
pub(super) async fn read_only_paths_stay_as_they_are(ctx: &Ctx<'_>) -> Result<(), Failure> {
    if !ctx.has(Capability::FilesystemReadOnly) {
        return refused(ctx, Isolation::new().read_only("/nowhere")).await;
    }
    let granted = ctx.has(Capability::FilesystemGrants);
    for is_granted in [false].into_iter().chain(granted.then_some(true)) {
        let home = &directory(ctx, "home", "beside it\n").await?;
        let [kept, open, way] = ["kept", "open", "way"].map(|it| format!("{home}/{it}"));
        let deep = format!("{way}/deep");
        ctx.text(&["mkdir", &kept, "mkdir", &open, "mkdir", &way, "mkdir", &deep]).await?;
        let [inside, single, beside] = [&kept, &deep, home].map(|it| format!("{it}/file"));
        let (inside, single) = (inside.as_str(), single.as_str());
        for file in [inside, single] {
            ctx.install(file, "644", "as it was\n").await?;
        }
        let [a, b, c, d, e, f, g] =
            ["a", "b", "c", "d", "e", "f", "g"].map(|it| format!("{open}/{it}"));
        let way_moved = format!("{open}/way");
        let home_moved = format!("{home}-moved");
        let attempts = [
            allowed(["show", inside]),
            allowed(["list", &kept]),
            allowed(["show", single]),
            allowed(["append", &beside, "more"]),
            allowed(["put", &a, "text", "move", &a, &b, "show", &b]),
            denied(["put", inside, "text"]),
            denied(["append", inside, "text"]),
            denied(["empty", inside]),
            denied(["delete", inside]),
            denied(["put", &format!("{kept}/new"), "text"]),
            denied(["mkdir", &format!("{kept}/dir")]),
            denied(["append", single, "text"]),
            denied(["empty", single]),
            denied(["delete", single]),
            denied(["move", &b, single]),
            denied(["move", &b, inside]),
            // By another name it stays as well.
            denied(["append", &format!("{open}/../kept/file"), "text"]),
            denied(["symlink", inside, &c, "append", &c, "text"]),
            denied(["link", inside, &d, "append", &d, "text"]),
            denied(["link", single, &e, "append", &e, "text"]),
            denied(["move", inside, &f]),
            denied(["move", &kept, &g]),
            denied(["move", &way, &way_moved]),
            denied(["move", home, &home_moved]),
        ];
        // What does not exist asks for nothing.
        let isolation = [&kept, single, &format!("{home}/missing")]
            .into_iter()
            .fold(Isolation::new(), |it, path| it.read_only(path));
        let isolation = match is_granted {
            true => isolation.filesystem(grants(ctx, &[], &[home])),
            false => isolation,
        };
        check(ctx, isolation, &attempts).await?;
        is_untouched(ctx, &kept, "as it was\n").await?;
        is_untouched(ctx, &deep, "as it was\n").await?;
    }
    Ok(())
}

/// The last part of a path.
fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The program of one call keeps a secret in its environment and waits; an isolated one signals it
/// and reads its `/proc/PID/environ`. It must end by itself afterwards.
pub(super) async fn others_are_out_of_reach(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let isolation = || Isolation::new().processes(Processes::Own);
    if !ctx.has(Capability::ProcessIsolation) {
        return refused(ctx, isolation()).await;
    }
    let gate = ctx.mkfifo().await?;
    let steps = ["own-id", "say", READY, "await", &gate, "exit", "7"];
    let (observer, mut chunks) = mpsc::channel(16);
    let spec = ctx.spec(&steps).env_var("FLYTO_SECRET", SECRET);
    let process = ctx.env.start(spec, RunOptions::new().observer(observer)).await?;
    let printed = lines_until(&mut chunks, &[READY]).await?;
    let id = String::from_utf8_lossy(&printed).lines().next().unwrap_or_default().to_owned();

    // Where each call has ids of its own, this one is another process's, or none's.
    let attempt = async |steps: &[&str]| ctx.run(ctx.spec(steps).isolation(isolation())).await;
    attempt(&["signal", "TERM", &id]).await?;
    let outcome = attempt(&["show", &format!("/proc/{id}/environ")]).await?;
    let seen = String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned();
    ensure(!seen.contains(SECRET), || {
        "the environment of another call's program was read".to_owned()
    })?;
    // The program that was aimed at is in no hurry: what it was sent, it has when it goes on.
    let release = ["release", &gate];
    let go_on = async {
        ctx.text(&release).await?;
        // What is waited for is its end.
        pending().await
    };
    let outcome = tokio::select! {
        outcome = process.wait() => outcome?,
        failure = go_on => return failure,
    };
    ensure(outcome.ending == Ending::Exited(Exit::Code(7)), || {
        format!("the program of another call was ended: {}", summary(&outcome))
    })
}

/// Files and children as ever; unshare(2) fails.
pub(super) async fn restricted_system_calls_fail(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let isolation = Isolation::new().system_calls(SystemCalls::Restricted);
    if !ctx.has(Capability::SystemCallFilter) {
        return refused(ctx, isolation).await;
    }
    let file = ctx.path("file").await?;
    let attempts = [
        // What ordinary programs do goes on.
        allowed(["put", &file, "text", "show", &file, "delete", &file]),
        allowed(["child", "[", "say", "from a child", "]"]),
        denied(["unshare"]),
    ];
    check(ctx, isolation, &attempts).await
}

/// Where it is not declared, a program that asks for it is refused.
pub(super) async fn refused(ctx: &Ctx<'_>, isolation: Isolation) -> Result<(), Failure> {
    let spec: Spec = ctx.spec(&["exit", "0"]).isolation(isolation);
    ctx.refused(spec, ExecErrorKind::Unsupported).await
}
