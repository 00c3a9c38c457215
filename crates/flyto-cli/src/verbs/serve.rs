//! `serve`: the tools for clients of the Model Context Protocol, over stdin and stdout or over HTTP.

mod reporter; // what the operator is told of calls

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use flyto_diagnostics::{Diagnostic, Severity};
use flyto_host::jobs::JobStore;
use flyto_host::stages::names;
use flyto_host::{HostBuilder, WatchOptions};
use flyto_mcp::{ClientApprovals, ConnectionEnd, HttpOptions, Server, ServerOptions, ServerStatus};
use flyto_tools::CancellationToken;
use rustix::fs::{Mode, OFlags};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::args::Serve;
use crate::call::signals::Kinds;
use crate::commands::by_flyto;
use crate::evolve::{AtClient, person};
use crate::exit::{Exit, Why};
use crate::findings::summary;
use crate::screen::{Page, complain};
use crate::session::{Answers, Backend, Loaded, Session};
use crate::stop::{Stop, chain};
use crate::words::{counted, one_line, tame};

use self::reporter::CallReporter;
use super::list::offer::Offer;

/// Threads that make calls. Tools are processes of their own; what is left to do here is little.
const N_THREADS: usize = 2;

pub(crate) fn run(args: &Serve, session: &Session) -> Result<Exit, Stop> {
    let approvals = ClientApprovals::new();
    let handler = approvals.clone();
    let approver = Arc::new(AtClient::new(approvals.clone(), &person(session.env())));
    let with = |host: HostBuilder, _| {
        let host = host.checkpoint_handler(handler);
        // Behind the guard, so that no secret is told.
        let reporter = CallReporter::new(session.screen);
        let host = host.stages(|it| it.insert_after(names::OUTPUT_GUARD, reporter));
        host.expect("the list has that stage, and none of this name")
    };
    let answers = Answers { approver, ..Answers::default() };
    let loaded = session.load_with(args.output_limit, Backend::Serving, answers, with)?;
    for remark in loaded.config_remarks() {
        session.screen.note(remark);
    }
    let is_error = |it: &&Diagnostic| it.severity == Severity::Error;
    let errors: Vec<_> = loaded.report.findings().filter(is_error).collect();
    if !errors.is_empty() {
        let errors = summary(errors);
        session
            .screen
            .note(format_args!("{errors}; {} shows them", by_flyto(["list", "--problems"])));
    }
    if let Some(Err(why)) = loaded.evolved.as_ref().map(|it| &it.report) {
        session.screen.note(format_args!("the evolved tools are not there: {}", one_line(why)));
    }
    if let Some(evolved) = &loaded.evolved {
        evolved.recovered_now().into_iter().for_each(|it| session.screen.note(it));
        evolved.left_out().into_iter().for_each(|it| session.screen.note(it));
    }
    if args.http.is_none() && io::stdin().is_terminal() {
        session
            .screen
            .note("a client of the Model Context Protocol starts this program; Ctrl-D ends it");
    }
    // Without a thread for it, the tools stay what they are.
    let watching = loaded.host.watch(WatchOptions::default());
    if let Err(err) = &watching {
        session
            .screen
            .note(format_args!("edited plugins are not reloaded: {}", one_line(&chain(err))));
    }
    let runtime = Builder::new_multi_thread().worker_threads(N_THREADS).enable_all().build();
    let runtime = runtime.map_err(not_served)?;
    // Without a state directory every call ends with its request.
    let jobs = JobStore::of(&session.surroundings()?.places).filter(|_| !args.no_jobs);
    let res = serve(args, &runtime, session, &loaded, approvals, jobs);
    if let Some(evolved) = &loaded.evolved
        && let Some(why) = runtime.block_on(evolved.flush())
    {
        session.screen.note(tame(&why));
    }
    // The thread that reads may wait for a client that says nothing more.
    runtime.shutdown_background();
    let unended = loaded.host.unended();
    if !unended.is_empty() {
        let names = unended.iter().map(|it| one_line(it)).collect::<Vec<_>>().join(", ");
        let n_plugins = counted(unended.len(), "plugin");
        session.screen.note(format_args!("processes of {n_plugins} may still be running: {names}"));
    }
    res
}

fn serve(
    args: &Serve,
    runtime: &Runtime,
    session: &Session,
    loaded: &Loaded,
    approvals: ClientApprovals,
    jobs: Option<JobStore>,
) -> Result<Exit, Stop> {
    let mut options = ServerOptions::default();
    options.rules_file.clone_from(&loaded.rules_file);
    options.output_limit_bytes = Some(loaded.output_limit_bytes);
    options.discovery = args.discovery;
    options.heartbeat = args.heartbeat.unwrap_or(options.heartbeat);
    options.task_after = args.task_after.unwrap_or(options.task_after);
    options.jobs = jobs;
    let server = Server::new(loaded.host.clone(), options).map_err(not_served)?;
    let joined = CancellationToken::new();
    let server = server.approvals(approvals).servers(loaded.servers.clone());
    let server = server.lists_wait_for(joined.clone());
    runtime.block_on(async {
        let stop = CancellationToken::new();
        let mut kinds = Kinds::new().map_err(not_served)?;
        let (sender, mut signal) = oneshot::channel();
        let token = stop.clone();
        tokio::spawn(async move {
            let number = kinds.next().await;
            let _ = sender.send(number);
            token.cancel();
            // The sender of a second signal does not wait for tools: their supervisors end them.
            let number = kinds.next().await;
            std::process::exit(Exit::Signal(number).code().into());
        });
        if let Some(address) = args.http {
            let (listener, options) = reach(address, args)?;
            let serving = server.serve_http(listener, options, &stop);
            while_joining(loaded, session, &joined, serving).await.map_err(not_served)?;
            server.end_jobs().await;
            loaded.abort().await;
            return Ok(signal.try_recv().map_or(Exit::Ok, Exit::Signal));
        }
        let serving = server.serve_stdio(&stop);
        let end = while_joining(loaded, session, &joined, serving).await.map_err(not_served)?;
        server.end_jobs().await;
        match end {
            ConnectionEnd::Stopped => loaded.abort().await,
            _ => loaded.close().await,
        }
        match end {
            ConnectionEnd::Broken(err) => match Stop::output(err) {
                Stop::Closed => Ok(Exit::Ok),
                stop => Err(stop),
            },
            ConnectionEnd::Stopped => Ok(signal.try_recv().map_or(Exit::Ok, Exit::Signal)),
            _ => Ok(Exit::Ok),
        }
    })
}

/// Serves, and connects to the servers beside that: no client waits for them but with its list of tools.
async fn while_joining<T>(
    loaded: &Loaded,
    session: &Session,
    joined: &CancellationToken,
    serving: impl Future<Output = T>,
) -> T {
    let joining = async {
        loaded.join_servers().await;
        joined.cancel();
    };
    let beside = async { tokio::join!(joining, tell_of_servers(loaded, session)) };
    let (mut serving, beside) = (pin!(serving), pin!(beside));
    tokio::select! {
        res = &mut serving => res,
        _ = beside => serving.await,
    }
}

/// Tells the operator what becomes of each server, when it is known and when it changes: one that does not answer delays no word
/// about the others. What is said already is said again only after it was over.
async fn tell_of_servers(loaded: &Loaded, session: &Session) {
    let mut changes = loaded.servers.changes();
    let mut told = HashSet::new();
    loop {
        let reports = loaded.servers.reports().into_iter();
        // The others are being tried, for the first time in this process.
        let tried = reports.filter(|it| !it.failed_before && it.status != ServerStatus::Unknown);
        let mut remarks: Vec<_> = tried.flat_map(|it| super::servers::remarks(&it)).collect();
        let tools: Vec<_> = loaded.host.registry().snapshot().iter().cloned().collect();
        remarks.extend(Offer::of(&tools).remarks());
        for remark in remarks.iter().filter(|it| !told.contains(*it)) {
            session.screen.note(remark);
        }
        told = remarks.into_iter().collect();
        if changes.changed().await.is_none() {
            return;
        }
    }
}

/// Binds the address, and tells the operator how it is reached.
fn reach(address: SocketAddr, args: &Serve) -> Result<(TcpListener, HttpOptions), Stop> {
    /// Fewer bytes can be guessed.
    const MIN_TOKEN_BYTES: usize = 16;
    let listener = TcpListener::bind(address).map_err(|err| {
        Stop::new(Why::Failed, format!("the address {address} cannot be had: {err}"))
            .with_help("another program may have it; port 0 takes a free one")
    })?;
    let options = match &args.token_file {
        None => HttpOptions::generated().map_err(not_served)?,
        Some(file) => {
            let token = read_token(file)
                .map_err(|err| Stop::new(Why::Missing, format!("{}: {err}", file.display())))?;
            let token = token.trim();
            if token.len() < MIN_TOKEN_BYTES || !token.bytes().all(|it| it.is_ascii_graphic()) {
                return Err(Stop::new(Why::Broken, format!("{} holds no token", file.display()))
                    .with_help("a token is 16 or more printable ASCII characters without blanks"));
            }
            HttpOptions::with_token(token)
        }
    };
    let address = listener.local_addr().map_err(not_served)?;
    // Without these lines the server is of no use, whatever --quiet says.
    let token = args.token_file.is_none().then_some(options.token.as_str());
    let token = token.map(|it| format!("Authorization: Bearer {it}\n")).unwrap_or_default();
    complain(format_args!("serving http://{address}/mcp\n{token}"), Page::default());
    if let Some(file) = args.token_file.as_deref().filter(|it| is_read_by_others(it)) {
        let name = one_line(&file.display().to_string());
        let told = "warning: other users may read the token in";
        complain(format_args!("{told} {name}; `chmod 600` closes it to them\n"), Page::default());
    }
    Ok((listener, options))
}

/// Whether a file is one that its owner is not alone in reading.
fn is_read_by_others(file: &Path) -> bool {
    let others = (Mode::RGRP | Mode::ROTH).bits();
    fs::metadata(file).is_ok_and(|it| it.is_file() && it.mode() & others != 0)
}

/// The text of a file, or of a pipe as a shell makes it (`<(pass show flyto)`). A pipe into which nothing writes is empty.
///
/// # Errors
///
/// It cannot be read, or is longer than a token.
fn read_token(file: &Path) -> io::Result<String> {
    const MAX_BYTES: u64 = 4096;
    // Else open(2) waits for a program that opens the other end of a FIFO.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = rustix::fs::open(file, flags, Mode::empty())?;
    rustix::fs::fcntl_setfl(&open, OFlags::empty())?;
    let mut res = String::new();
    File::from(open).take(MAX_BYTES + 1).read_to_string(&mut res)?;
    if res.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(res)
}

fn not_served(err: io::Error) -> Stop {
    Stop::new(Why::Failed, format!("the tools cannot be served: {}", chain(&err)))
        .with_help("there are too many threads or open files; see `ulimit -a`")
}
