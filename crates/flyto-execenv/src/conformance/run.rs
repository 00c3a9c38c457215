//! What a run promises.
//!
//! Programs here end by themselves. What they print, read and return is compared to the byte, with
//! sizes that pass every buffer on the way.

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    sync::mpsc,
    task::JoinSet,
};

use super::{
    ctx::Ctx,
    failure::{Failure, ensure, equal, summary},
};
use crate::{
    Capability, Capture, Chunk, Ending, ExecErrorKind, Exit, LimitKind, Limits, Output, RunOptions,
    Signal, Stdin, Stream,
};

/// One block of the step `fill`.
const BLOCK_BYTES: u64 = 64 * 1024;

/// More than any pipe holds: Linux lets a user have pipes of 1 MiB (pipe(7)).
const BIG_BYTES: usize = 4 * 1024 * 1024;

/// Calls at once where many are needed.
const AT_ONCE: usize = 24;

/// Both ends of the range of a code, and two between.
pub(super) async fn exit_codes_are_exact(ctx: &Ctx<'_>) -> Result<(), Failure> {
    for code in [0, 1, 42, 255] {
        let outcome = ctx.run(ctx.spec(&["exit", &code.to_string()])).await?;
        let exit = Exit::Code(code);
        equal("ending", outcome.ending, Ending::Exited(exit))?;
        equal("exit", outcome.exit, Some(exit))?;
    }
    Ok(())
}

/// The program sends the signal to itself. A backend that runs it below a shell would report 128
/// and the number.
pub(super) async fn signals_are_exact(ctx: &Ctx<'_>) -> Result<(), Failure> {
    for (name, signal) in [("TERM", Signal::TERM), ("KILL", Signal::KILL), ("SEGV", Signal(11))] {
        let outcome = ctx.run(ctx.spec(&["die", name])).await?;
        let exit = Exit::Signal(signal);
        equal("ending", outcome.ending, Ending::Exited(exit))?;
        equal("exit", outcome.exit, Some(exit))?;
    }
    Ok(())
}

/// 300,000 bytes of all values go in by stdin and come back by stdout, then by stderr; the other
/// stream stays empty.
pub(super) async fn streams_are_bytes(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let input = bytes_of_every_kind(300_000);
    let out = ctx.run(ctx.spec(&["cat"]).stdin_bytes(input.clone())).await?;
    same_bytes("stdout", &out.stdout.bytes(), &input)?;
    equal("stderr", &*out.stderr.bytes(), b"")?;
    let err = ctx.run(ctx.spec(&["cat-to-stderr"]).stdin_bytes(input.clone())).await?;
    same_bytes("stderr", &err.stderr.bytes(), &input)?;
    equal("stdout", &*err.stdout.bytes(), b"")
}

/// All byte values in all sorts of neighbourhoods, without a period that a buffer could hide.
///
/// The same sequence in each call, by a fixed seed.
fn bytes_of_every_kind(n: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        // xorshift64: https://www.jstatsoft.org/article/view/v008i14
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    (0..n).map(|_| next()).collect()
}

/// Names the first byte that differs, since a dump of both would help no reader.
fn same_bytes(about: &str, got: &[u8], expected: &[u8]) -> Result<(), Failure> {
    let differ_at = || got.iter().zip(expected).position(|(a, b)| a != b);
    ensure(got == expected, || {
        let (n_got, n_expected) = (got.len(), expected.len());
        match differ_at() {
            Some(at) => format!("{about}: byte {at} of {n_expected} is another one"),
            None => format!("{about}: expected {n_expected} bytes, got {n_got}"),
        }
    })
}

/// [`BIG_BYTES`] go through `cat`. A driver that writes all input before it reads output stops here
/// for ever.
pub(super) async fn big_input_does_not_deadlock(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let input = bytes_of_every_kind(BIG_BYTES);
    let spec = ctx.spec(&["cat"]).stdin_bytes(input.clone());
    let capture = Capture::limit(BIG_BYTES as u64);
    let outcome = ctx.run(spec.stdout(Output::Captured(capture))).await?;
    equal("ending", outcome.ending, Ending::Exited(Exit::Code(0)))?;
    same_bytes("stdout", &outcome.stdout.bytes(), &input)
}

/// The program ignores its input, or closes it; with little input and with more than a pipe holds.
/// The broken pipe is no error of the call.
pub(super) async fn unread_stdin_is_no_error(ctx: &Ctx<'_>) -> Result<(), Failure> {
    for steps in [&["say", "done"][..], &["close-stdin", "say", "done"]] {
        for n in [10, BIG_BYTES] {
            let outcome = ctx.run(ctx.spec(steps).stdin_bytes(vec![b'x'; n])).await?;
            ensure(outcome.success(), || format!("{steps:?}: {}", summary(&outcome)))?;
            equal("stdout", &*outcome.stdout.bytes(), b"done\n")?;
        }
    }
    Ok(())
}

/// 8 MiB are printed and 10,000 bytes kept: the first line, the last one, and the true count.
pub(super) async fn output_is_bounded(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let (n_blocks, limit) = (128, 10_000);
    let spec = ctx.spec(&["say", "first", "fill", &n_blocks.to_string(), "say", "last"]);
    let outcome = ctx.run(spec.stdout(Output::Captured(Capture::limit(limit)))).await?;
    ensure(outcome.success(), || summary(&outcome))?;
    let stdout = &outcome.stdout;
    let total = n_blocks * BLOCK_BYTES + "first\nlast\n".len() as u64;
    equal("bytes printed", stdout.total_bytes, total)?;
    equal("bytes kept", stdout.bytes().len() as u64, limit)?;
    ensure(stdout.head.starts_with(b"first\n"), || "the start is not kept".to_owned())?;
    ensure(stdout.tail.ends_with(b"last\n"), || "the end is not kept".to_owned())
}

/// The program prints 1 GiB with a limit of 256 KiB and then stays; its children must be gone with
/// it.
pub(super) async fn output_limit_ends_the_tree(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let watch = ctx.watch().await?;
    let mut steps = vec!["hold", watch.fifo()];
    if ctx.ends_children() {
        steps.extend(["child", "[", "nap", "]"]);
    }
    steps.extend(["say", "first", "fill", "16384", "nap"]);
    let limits = Limits::new().output_bytes(4 * BLOCK_BYTES);
    let outcome = ctx.run(ctx.spec(&steps).limits(limits)).await?;
    equal("ending", outcome.ending, Ending::LimitReached(LimitKind::Output))?;
    ensure(outcome.stdout.head.starts_with(b"first\n"), || "the output is lost".to_owned())?;
    watch.all_gone(ctx).await
}

/// Six lines alternate between both streams. Two pipes that are read one after the other lose the
/// order.
pub(super) async fn merged_stderr_keeps_order(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let steps = ["say", "1", "warn", "2", "say", "3", "warn", "4", "warn", "5", "say", "6"];
    let spec = ctx.spec(&steps).merge_stderr();
    if !ctx.has(Capability::MergedStderr) {
        return ctx.refused(spec, ExecErrorKind::Unsupported).await;
    }
    let outcome = ctx.run(spec).await?;
    equal("stdout", &*outcome.stdout.bytes(), b"1\n2\n3\n4\n5\n6\n")?;
    equal("stderr", &*outcome.stderr.bytes(), b"")
}

/// The program waits for a named pipe after its first lines, and the pipe is opened only after they
/// were observed.
pub(super) async fn output_arrives_while_it_runs(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let gate = ctx.mkfifo().await?;
    let spec = ctx.spec(&["say", "one", "warn", "uno", "await", &gate, "say", "two"]);
    let (observer, mut chunks) = mpsc::channel(16);
    let run = ctx.env.run_with(spec, RunOptions::new().observer(observer));
    let watch = async {
        let mut seen: [Vec<u8>; 2] = Default::default();
        let mut take = |chunk: Chunk| {
            seen[usize::from(chunk.stream == Stream::Stderr)].extend_from_slice(&chunk.bytes);
            (seen[0].ends_with(b"one\n") && seen[1].ends_with(b"uno\n"), seen[0].clone())
        };
        // The program goes on only after both its lines have been seen.
        while let Some(chunk) = chunks.recv().await {
            if take(chunk).0 {
                break;
            }
        }
        ctx.text(&["release", &gate]).await?;
        let mut all = Vec::new();
        while let Some(chunk) = chunks.recv().await {
            all = take(chunk).1;
        }
        Ok::<_, Failure>(all)
    };
    let (outcome, seen) = tokio::join!(run, watch);
    let outcome = outcome?;
    ensure(outcome.success(), || summary(&outcome))?;
    equal("stdout as captured", &*outcome.stdout.bytes(), b"one\ntwo\n")?;
    equal("stdout as observed", seen?.as_slice(), b"one\ntwo\n")
}

/// The observer takes one chunk and then nothing. The program notes how far it has come, and must
/// stop within 4 MiB of what was taken; another one that nothing slows does the same work
/// meanwhile, as a clock that a busy machine slows too.
pub(super) async fn slow_observer_slows_the_program(ctx: &Ctx<'_>) -> Result<(), Failure> {
    // Far more than pipes and the buffers of a connection hold.
    let (n_blocks, may_be_ahead) = (128, 4 * 1024 * 1024);
    let notes = ctx.path("notes").await?;
    let (observer, mut chunks) = mpsc::channel(1);
    let spec = ctx.spec(&["fill-and-note", &n_blocks.to_string(), &notes]);
    let run = ctx.env.run_with(spec, RunOptions::new().observer(observer));
    let watch = async move {
        let first = chunks.recv().await.map_or(0, |it| it.bytes.len() as u64);
        // Nothing more is taken until the program has come to a halt: it stands where it stood, while
        // another that nothing slows did all of the same work. A busy machine slows both.
        let mut before = None;
        loop {
            let unhindered = ctx.path("unhindered-notes").await?;
            ctx.run(ctx.spec(&["fill-and-note", &n_blocks.to_string(), &unhindered])).await?;
            let now = ctx.text(&["show", &notes]).await.ok().filter(|it| !it.is_empty());
            if now.is_some() && now == before {
                break;
            }
            before = now;
        }
        let n_written: u64 = before.map_or(Ok(0), |it| it.trim_end().parse()).unwrap_or(u64::MAX);
        let mut taken = first;
        while let Some(chunk) = chunks.recv().await {
            taken += chunk.bytes.len() as u64;
        }
        Ok::<_, Failure>((n_written.saturating_mul(BLOCK_BYTES), first, taken))
    };
    let (outcome, watched) = tokio::join!(run, watch);
    let (outcome, (written, first, taken)) = (outcome?, watched?);
    ensure(outcome.success(), || summary(&outcome))?;
    ensure(written <= first + may_be_ahead, || {
        format!("the program wrote {written} bytes while {first} were taken")
    })?;
    equal("bytes observed", taken, n_blocks * BLOCK_BYTES)
}

/// Three lines, each answered before the next is sent, then the end of input and the exit code.
pub(super) async fn piped_streams_talk(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let spec = ctx.spec(&["echo-lines", "exit", "7"]).stdin(Stdin::Piped).stdout(Output::Piped);
    if !ctx.has(Capability::PipedStreams) {
        return match ctx.env.start(spec, RunOptions::new()).await {
            Ok(_) => Err(Failure::new("piped streams are not declared, and it ran")),
            Err(err) => Ctx::is_refusal("piped streams", &err, ExecErrorKind::Unsupported),
        };
    }
    let mut process = ctx.env.start(spec, RunOptions::new()).await?;
    let missing = |stream: &str| Failure::new(format!("{stream} was asked for and is not there"));
    let mut stdin = process.stdin.take().ok_or_else(|| missing("stdin"))?;
    let stdout = process.stdout.take().ok_or_else(|| missing("stdout"))?;
    let mut lines = BufReader::new(stdout).lines();
    let broken = |err: std::io::Error| Failure::new(format!("the pipe broke: {err}"));
    for n in 0..3 {
        stdin.write_all(format!("{n}\n").as_bytes()).await.map_err(broken)?;
        stdin.flush().await.map_err(broken)?;
        equal("answer", lines.next_line().await.map_err(broken)?, Some(format!("got {n}")))?;
    }
    drop(stdin);
    equal("after the end", lines.next_line().await.map_err(broken)?, None)?;
    let outcome = process.wait().await?;
    equal("ending", outcome.ending, Ending::Exited(Exit::Code(7)))
}

/// [`AT_ONCE`] calls with the same command line, told apart by their input alone. Each has its own
/// answer and its own exit code.
pub(super) async fn calls_do_not_mix(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let mut calls = JoinSet::new();
    for n in 0..AT_ONCE {
        // The command line is the same for all of them.
        let spec = ctx.spec(&["answer"]).stdin_bytes(format!("call-{n} {}\n", n + 1));
        let env = ctx.env.clone();
        calls.spawn(async move { (n, env.run(spec).await) });
    }
    while let Some(joined) = calls.join_next().await {
        let (n, outcome) = joined.map_err(|err| Failure::new(err.to_string()))?;
        let outcome = outcome?;
        let code = i32::try_from(n + 1).map_err(|err| Failure::new(err.to_string()))?;
        let expected = (Ending::Exited(Exit::Code(code)), format!("call-{n}\n").into_bytes());
        equal("a call among many", (outcome.ending, outcome.stdout.into_bytes()), expected)?;
    }
    Ok(())
}
