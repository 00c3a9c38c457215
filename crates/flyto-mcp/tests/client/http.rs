//! Servers behind an address.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{CallError, Config, Host, Surroundings};
use flyto_mcp::{
    Elicitation, ElicitationAnswer, ElicitationHandler, HttpOptions, Revision, Server,
    ServerOptions, ServerStatus,
};
use flyto_tools::{CallContext, CancellationToken, Failure};
use serde_json::{Value, json};

use crate::support::{World, options, script};

/// The little server behind an address. Dropping it kills it.
pub(crate) struct Listening {
    child: Child,
    pub(crate) port: u16,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Listening {
    pub(crate) fn start(modes: &[&str]) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a server that the client did not start")]
        let mut command = Command::new("python3");
        let mut child = command
            .arg(script().with_file_name("http_server.py"))
            .args(modes)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("its port");
        Self { child, port: line.trim().parse().expect("a port") }
    }

    fn declared(&self) -> Value {
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        json!({"type": "http", "url": url, "headers": {"Authorization": "Bearer ${SECRET}"}})
    }

    fn world(&self, handler: Option<Arc<dyn ElicitationHandler>>) -> World {
        World::with(json!({"s": self.declared()}), options(), handler)
    }
}

#[derive(Debug)]
struct Ada;

#[async_trait]
impl ElicitationHandler for Ada {
    async fn ask(&self, _: &Elicitation) -> ElicitationAnswer {
        ElicitationAnswer::Accept(json!({"name": "Ada"}))
    }
}

#[tokio::test]
async fn both_eras_are_spoken_with_answers_and_with_streams() {
    for (modes, revision) in [
        (&[][..], Revision::LATEST_LEGACY),
        (&["stream"], Revision::LATEST_LEGACY),
        (&["modern"], Revision::LATEST),
        (&["modern", "stream"], Revision::LATEST),
    ] {
        let server = Listening::start(modes);
        let world = server.world(None).connected().await;
        let report = world.report();
        assert_eq!((report.problem, report.revision), (None, Some(revision)), "{modes:?}");
        assert_eq!(world.text("echo", json!({"text": "a\nb"})).await, "a\nb", "{modes:?}");
        let ids = report.tools;
        let id = ids.iter().find(|it| it.starts_with("s:two_words-")).expect("it is there");
        assert_eq!(world.text(&id[2..], json!({})).await, "heard", "{modes:?}");
        let result = world.call("refuses", json!({})).await.expect("a result");
        assert_eq!(result.failure, Some(Failure::Reported { code: Some(-32602) }), "{modes:?}");
        let result = world.call("oversize", json!({})).await.expect("a result");
        assert_eq!(result.failure, Some(Failure::limit("message")), "{modes:?}");
        let result = world.call("breaks_off", json!({})).await.expect("a result");
        assert_eq!(result.failure, Some(Failure::Lost), "{modes:?}");
        assert_eq!(world.text("echo", json!({"text": "c"})).await, "c", "{modes:?}");
        assert!(world.servers.close().await.is_empty(), "{modes:?}");
    }
}

#[tokio::test]
async fn questions_and_changes_come_within_streams() {
    let answer = r#"{"action": "accept", "content": {"name": "Ada"}}"#;
    for (modes, expected) in
        [(&["stream"][..], answer.to_owned()), (&["modern", "stream"], format!("{answer} s1"))]
    {
        let server = Listening::start(modes);
        let world = server.world(Some(Arc::new(Ada))).connected().await;
        assert_eq!(world.text("asks", json!({})).await, expected, "{modes:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_taken_back_in_a_session() {
    let server = Listening::start(&["stream"]);
    let world = server.world(None).connected().await;
    let ctx = CallContext::new().with_timeout(Duration::from_millis(300));
    let result = world.call_with("never", json!({}), &ctx).await.expect("a result");
    assert!(matches!(result.failure, Some(Failure::TimedOut { .. })), "{:?}", result.failure);
    // The notification is a request of its own, which may come after the next one.
    while world.text("cancelled", json!({})).await == "[]" {}
}

#[tokio::test]
async fn a_session_that_is_gone_is_opened_anew() {
    let server = Listening::start(&[]);
    let mut options = options();
    options.backoff = Duration::ZERO;
    let world = World::with(json!({"s": server.declared()}), options, None).connected().await;
    assert_eq!(world.text("forgets", json!({})).await, "forgotten");
    let result = world.call("echo", json!({"text": "a"})).await.expect("a result");
    assert_ne!(result.failure, None);
    assert_eq!(world.text("echo", json!({"text": "a"})).await, "a");
}

#[tokio::test]
async fn what_cannot_be_reached_says_why() {
    let locked = Listening::start(&[]);
    let redirects = Listening::start(&["redirects"]);
    let [page, gzip] = ["page", "gzip"].map(|it| Listening::start(&[it]));
    let url = |port: u16, path: &str| json!({"url": format!("http://127.0.0.1:{port}{path}")});
    // Another process may have the port of a listener that is gone; port 1 has none here.
    for (declared, problem) in [
        (url(locked.port, "/mcp"), "HTTP 401 Unauthorized"),
        (url(redirects.port, "/mcp"), "HTTP 307 Temporary Redirect"),
        (url(page.port, "/mcp"), "of the type \"text/html\" and holds no messages: is the address"),
        (url(gzip.port, "/mcp"), "encoded as \"gzip\", which the request did not ask for"),
        (url(1, "/"), "127.0.0.1:1 cannot be reached"),
    ] {
        let world = World::with(json!({"s": declared}), options(), None).connected().await;
        let report = world.report();
        assert_eq!(report.status, ServerStatus::Failed);
        let told = report.problem.expect("there is one");
        assert!(told.contains(problem), "{told}");
        let called = world.call("echo", json!({})).await;
        assert!(matches!(called, Err(CallError::NotFound { .. })), "{called:?}");
    }
}

#[tokio::test]
async fn a_server_of_this_crate_is_a_peer() {
    let surroundings = Surroundings::ambient().expect("a directory");
    let host = Host::new(ExecEnv::new(Local::new()), surroundings, Config::default());
    let mut own = ServerOptions::default();
    own.discovery = true;
    let server = Server::new(Arc::new(host), own).expect("random numbers");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it has one");
    let stop = CancellationToken::new();
    let serving = server.serve_http(listener, HttpOptions::with_token("s3cret"), &stop);
    let client = async {
        let declared = json!({
            "url": format!("http://{address}/mcp"),
            "headers": {"Authorization": "Bearer ${SECRET}"},
        });
        let world = World::with(json!({"s": declared}), options(), None).connected().await;
        let report = world.report();
        assert_eq!((report.problem, report.revision), (None, Some(Revision::LATEST)));
        assert_eq!(report.tools, ["s:call_tool", "s:search_tools"]);
        world.text("search_tools", json!({"query": "anything"})).await;
        world.servers.close().await;
        stop.cancel();
    };
    let (served, ()) = tokio::join!(serving, client);
    served.expect("it served");
}
