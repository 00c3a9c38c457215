//! What a start promises of pinned programs.
//!
//! The file is a script of the suite, so its private copy has to be found by an interpreter.
//! Content is exchanged through the backend, by writing the file anew and by renaming another one
//! over it.

use bytes::Bytes;
use sha2::Digest;
use tokio::task::JoinSet;

use super::{
    ctx::Ctx,
    failure::{Failure, ensure, equal, summary},
    start::nothing_ran,
};
use crate::{Capability, ExecEnv, ExecErrorKind, Program, Sha256, ShippedFile, Spec};

/// Calls at the same time while the file changes.
const AT_ONCE: usize = 4;

/// Calls that each of them makes.
const CALLS: usize = 10;

fn sha256(content: &[u8]) -> Sha256 {
    Sha256(sha2::Sha256::digest(content).into())
}

/// A program at `path` that must hold `content`.
fn pinned(ctx: &Ctx<'_>, path: &str, content: &[u8]) -> Spec {
    let program = Program::Pinned { path: path.into(), sha256: sha256(content) };
    Spec { program, ..ctx.tool(path, &[]) }
}

/// By an absolute path, a relative one and a bare name; each twice, since a backend may keep a
/// copy. Arguments arrive as ever.
pub(super) async fn pinned_bytes_run(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let dir = ctx.mkdir("dir").await?;
    let (file, content) = (format!("{dir}/tool"), ctx.probe.executable(&["say", "ran", "args"]));
    ctx.install(&file, "755", content.clone()).await?;
    for program in [file.as_str(), "./tool", "tool"] {
        let path = format!("{dir}:{}", ctx.probe.path_value());
        let spec = pinned(ctx, program, &content).working_dir(&dir).env_var("PATH", path);
        let spec = spec.args(["a b", "$0"]);
        if !ctx.has(Capability::PinnedProgram) {
            return ctx.refused(spec, ExecErrorKind::Unsupported).await;
        }
        for call in ["first call", "second call"] {
            let output = ctx.output_of(spec.clone()).await?;
            let output = String::from_utf8_lossy(&output).into_owned();
            equal(&format!("{program}, {call}"), output.as_str(), "ran\na b\0$0\0")?;
        }
    }
    Ok(())
}

/// The digest of a beginning of the file, that of nothing, and a wrong one for the shell itself;
/// each twice.
pub(super) async fn pinned_mismatch_is_refused(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let (file, marker) = (ctx.path("tool").await?, ctx.path("ran").await?);
    let content = ctx.probe.executable(&["mkdir", &marker]);
    ctx.install(&file, "755", content.clone()).await?;
    let kind = if ctx.has(Capability::PinnedProgram) {
        ExecErrorKind::DigestMismatch
    } else {
        ExecErrorKind::Unsupported
    };
    // A beginning of the file is not the file, and a binary is checked as a script is.
    let others = [&content[..content.len() - 1], b""].map(|it| pinned(ctx, &file, it));
    let shell = ctx.spec(&["mkdir", &marker]);
    let program = Program::Pinned { path: ctx.probe.shell_path().into(), sha256: Sha256([0; 32]) };
    for spec in others.into_iter().chain([Spec { program, ..shell }]) {
        for _ in 0..2 {
            ctx.refused(spec.clone(), kind).await?;
        }
    }
    nothing_ran(ctx, &marker).await
}

/// The file arrives to the byte, with bytes that are not UTF-8. One with another digest and one
/// that is missing are refused.
pub(super) async fn shipped_files_are_there(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let (file, marker) = (ctx.path("data").await?, ctx.path("ran").await?);
    let content = b"shipped\n\0\xff".to_vec();
    ctx.install(&file, "644", content.clone()).await?;
    let spec = ctx.spec(&["show", &file]).ship(ShippedFile::new(&file, sha256(&content)));
    if !ctx.has(Capability::ShippedFiles) {
        return ctx.refused(spec, ExecErrorKind::Unsupported).await;
    }
    equal("the file", &*ctx.output_of(spec).await?, &*content)?;
    let missing = ctx.path("missing").await?;
    for (path, content) in [(&file, &b"other"[..]), (&missing, &content)] {
        let spec = ctx.spec(&["mkdir", &marker]).ship(ShippedFile::new(path, sha256(content)));
        ctx.refused(spec, ExecErrorKind::DigestMismatch).await?;
    }
    nothing_ran(ctx, &marker).await
}

/// First the file is exchanged between calls and back, which must be refused and then run again.
/// Then [`AT_ONCE`] tasks call while the file is exchanged all the time: whatever the moment, the
/// pinned bytes run or nothing does.
pub(super) async fn pinned_swap_is_caught(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let (file, next) = (ctx.path("tool").await?, ctx.path("next").await?);
    // Of the same length, so that no size tells.
    let [good, other] =
        ["pinned", "others"].map(|it| Bytes::from(ctx.probe.executable(&["say", it])));
    let rewrite = async |content: &Bytes| ctx.install(&file, "755", content.clone()).await;
    let replace = async |content: &Bytes| {
        ctx.install(&next, "755", content.clone()).await?;
        ctx.text(&["move", &next, &file]).await.map(drop)
    };

    rewrite(&good).await?;
    let spec = pinned(ctx, &file, &good);
    if !ctx.has(Capability::PinnedProgram) {
        return ctx.refused(spec, ExecErrorKind::Unsupported).await;
    }
    let runs =
        async || ensure(call(ctx.env, &spec).await?, || "the right file is refused".to_owned());
    runs().await?;
    for is_replaced in [false, true] {
        let swap = async |content| match is_replaced {
            true => replace(content).await,
            false => rewrite(content).await,
        };
        swap(&other).await?;
        for _ in 0..3 {
            call(ctx.env, &spec).await?;
        }
        swap(&good).await?;
        runs().await?;
    }

    // Somewhere between the check and the start, if there is such a time.
    let mut calls = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (env, spec) = (ctx.env.clone(), spec.clone());
        calls.spawn(async move {
            for _ in 0..CALLS {
                call(&env, &spec).await?;
            }
            Ok::<_, Failure>(())
        });
    }
    let all = async {
        while let Some(joined) = calls.join_next().await {
            joined.map_err(|err| Failure::new(err.to_string()))??;
        }
        Ok(())
    };
    let swap = async {
        loop {
            rewrite(&other).await?;
            rewrite(&good).await?;
            replace(&other).await?;
            replace(&good).await?;
        }
    };
    tokio::select! {
        res = all => res,
        res = swap => res,
    }
}

/// Expects that the pinned program runs or that nothing does. Whether it ran.
async fn call(env: &ExecEnv, spec: &Spec) -> Result<bool, Failure> {
    match env.run(spec.clone()).await {
        Ok(outcome) => {
            let is_right = outcome.success() && &*outcome.stdout.bytes() == b"pinned\n";
            ensure(is_right, || format!("other bytes ran: {}", summary(&outcome)))?;
            Ok(true)
        }
        Err(err) => {
            ensure(!err.did_start(), || format!("it was refused after it had started: {err}"))?;
            Ok(false)
        }
    }
}
