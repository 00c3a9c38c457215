//! What does a call cost through `flyto serve`, beside the bare pipe round trip of the same bytes? And when is the list of many
//! tools there?

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Instant,
};

use serde_json::{Value, json};

use crate::{
    Result,
    discover::write_plugins,
    machine,
    options::Options,
    programs::{Programs, program},
    statistics::{Quartiles, least},
    system::Cpus,
    table::{Reach, Table, ratio},
    worker::discovery::discover,
};

/// What a tool of a process that stays may cost over stdio, beside the ping-pong.
const SESSION: Reach = Reach::AtMost(3.0);
/// What the first list may cost beside finding the plugins.
const FIRST_LIST: Reach = Reach::AtMost(2.0);

pub(crate) fn run(options: &Options) -> Result {
    let programs = Programs::build(options)?;
    machine::print(&programs)?;
    let cpus = Cpus::current()?;
    let place = if options.unpinned { cpus.unpin()? } else { cpus.pin()? };
    let scene = Scene::make(&programs)?;
    calls(options, &programs, &scene, &place)?;
    cpus.unpin()?;
    lists(options, &scene)
}

/// A call of each kind of tool, one at a time.
fn calls(options: &Options, programs: &Programs, scene: &Scene, place: &str) -> Result {
    let rounds = options.rounds.unwrap_or(25);
    let session = call_line("answer__session", &json!({"text": "x".repeat(100)}));
    let script = call_line("echo__script", &json!({"text": "x".repeat(100)}));
    let native = call_line("list_tools", &json!({}));
    let mut variants: Vec<(String, Peer, String, Reach)> = vec![
        ("ping-pong".into(), scene.pong(programs)?, session.clone(), Reach::None),
        ("native, stdio".into(), scene.stdio()?, native.clone(), Reach::None),
        ("session, stdio".into(), scene.stdio()?, session.clone(), SESSION),
        ("script, stdio".into(), scene.stdio()?, script.clone(), Reach::None),
        ("native, HTTP".into(), scene.http()?, native, Reach::None),
        ("session, HTTP".into(), scene.http()?, session, Reach::None),
        ("script, HTTP".into(), scene.http()?, script, Reach::None),
    ];
    match scene.sdk()? {
        Some((peer, line)) => variants.push(("Python SDK, stdio".into(), peer, line, Reach::None)),
        None => println!("- no Python SDK: `cargo xtask interop python` installs it"),
    }
    let mut p50s = vec![Vec::new(); variants.len()];
    for round in 0..=rounds {
        for (at, (_, peer, line, _)) in variants.iter_mut().enumerate() {
            let mut times = Vec::with_capacity(options.calls);
            for _ in 0..options.calls {
                times.push(peer.round_trip_us(line)?);
            }
            // The first round is the warm-up.
            if round > 0 {
                p50s[at].push(Quartiles::of(times).median);
            }
        }
    }
    let mut table = Table::new(["variant", "best p50 µs", "p50, ratio", "reach", "met"]);
    for ((name, .., reach), p50) in variants.iter().zip(&p50s) {
        let figure = Quartiles::of_ratios(p50, &p50s[0]);
        let [reach, met] = reach.cells(figure);
        table.row([name.clone(), format!("{:.1}", least(p50)), ratio(figure), reach, met]);
    }
    println!(
        "\nOne call at a time, {place}; {rounds} rounds of {} calls:\n\n{table}",
        options.calls
    );
    Ok(())
}

/// The time from the start of the server to its first list, beside finding the plugins.
fn lists(options: &Options, scene: &Scene) -> Result {
    let rounds = options.rounds.unwrap_or(15);
    let n_plugins = options.plugins.first().copied().unwrap_or(1_000);
    let many = scene.dir.path().join("many");
    fs::create_dir(&many)?;
    write_plugins(&many, n_plugins, 1)?;
    let line = request("tools/list", json!({}));
    let (mut found, mut listed) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let begun = Instant::now();
        drop(discover(&many)?);
        found.push(begun.elapsed().as_secs_f64() * 1e3);
        let begun = Instant::now();
        let mut server = scene.serve(&many)?;
        server.round_trip_us(&line)?;
        listed.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    let figure = Quartiles::of_ratios(&listed, &found);
    let [reach, met] = FIRST_LIST.cells(figure);
    let mut table = Table::new(["variant", "best ms", "ratio", "reach", "met"]);
    let none = String::new;
    table.row(["discovery".into(), format!("{:.1}", least(&found)), none(), none(), none()]);
    let best = format!("{:.1}", least(&listed));
    table.row(["start to first tools/list".into(), best, ratio(figure), reach, met]);
    println!("\n{n_plugins} plugins of one tool, {rounds} rounds:\n\n{table}");
    Ok(())
}

fn request(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

fn call_line(tool: &str, arguments: &Value) -> String {
    request("tools/call", json!({"name": tool, "arguments": arguments}))
}

/// The files of all variants.
#[derive(Debug)]
struct Scene {
    dir: tempfile::TempDir,
    flyto: PathBuf,
}

/// A plugin of a process for each call.
const SCRIPT_MANIFEST: &str = r#"{
  "name": "echo",
  "tools": [{
    "name": "script", "description": "Says what it hears.", "command": "./echo",
    "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}}
  }]
}"#;

/// A plugin whose process stays.
const SESSION_MANIFEST: &str = r#"{
  "name": "answer",
  "execution": "binary",
  "binary": {"path": "answer", "protocol": "jsonrpc", "lifetime": "session"},
  "tools": [{
    "name": "session", "description": "Answers.",
    "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}}
  }]
}"#;

impl Scene {
    fn make(programs: &Programs) -> Result<Self> {
        let flyto = env::current_exe()?.with_file_name("flyto");
        if !flyto.is_file() {
            return Err("there is no `flyto`; build the package `flyto-cli` in this profile".into());
        }
        let dir = tempfile::tempdir()?;
        let config = dir.path().join("home/.config/flyto");
        fs::create_dir_all(&config)?;
        fs::write(
            config.join("config.json"),
            r#"{"permissions": {"allow": ["echo:*", "answer:*"]}}"#,
        )?;
        for (name, manifest, file) in [
            ("echo", SCRIPT_MANIFEST, &programs.echo),
            ("answer", SESSION_MANIFEST, &programs.answer),
        ] {
            let plugin = dir.path().join("plugins").join(name);
            fs::create_dir_all(&plugin)?;
            fs::write(plugin.join(flyto_plugin::MANIFEST_FILE), manifest)?;
            fs::copy(file, plugin.join(name))?;
        }
        Ok(Self { dir, flyto })
    }

    fn command(&self, name: &Path) -> Command {
        let mut res = program(name.as_os_str());
        res.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.dir.path().join("home"));
        res.current_dir(self.dir.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        res
    }

    fn pong(&self, programs: &Programs) -> Result<Peer> {
        Peer::stdio(self.command(&programs.pong))
    }

    fn stdio(&self) -> Result<Peer> {
        self.serve(&self.dir.path().join("plugins"))
    }

    fn serve(&self, plugins: &Path) -> Result<Peer> {
        let mut command = self.command(&self.flyto);
        command.args(["serve", "--evolve", "store", "--plugins"]).arg(plugins);
        command.stderr(Stdio::null());
        Peer::stdio(command)
    }

    fn http(&self) -> Result<Peer> {
        let mut command = self.command(&self.flyto);
        command.args(["serve", "--http", "0", "--evolve", "store", "--plugins", "plugins"]);
        command.stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut lines = BufReader::new(child.stderr.take().ok_or("it is a pipe")?).lines();
        let url = lines.next().ok_or("it says its address")??;
        let address = url.strip_prefix("serving http://").and_then(|it| it.strip_suffix("/mcp"));
        let address = address.ok_or("it says its address")?.to_owned();
        let token = lines.next().ok_or("it says its token")??;
        let stream = TcpStream::connect(&address)?;
        stream.set_nodelay(true)?;
        Ok(Peer { child, way: Way::Http { stream: BufReader::new(stream), address, token } })
    }

    /// The Python SDK's server with a call of its tool, where it is installed.
    fn sdk(&self) -> Result<Option<(Peer, String)>> {
        let python =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/interop/python/bin/python");
        if !python.is_file() {
            return Ok(None);
        }
        let mut command = self.command(&python);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/sdk_server.py");
        command.arg(script).stderr(Stdio::null());
        let line = call_line("echo", &json!({"text": "x".repeat(100)}));
        Ok(Some((Peer::stdio(command)?, line)))
    }
}

/// A process that answers.
struct Peer {
    child: Child,
    way: Way,
}

enum Way {
    /// A line a message.
    Stdio { stdin: std::process::ChildStdin, stdout: BufReader<std::process::ChildStdout> },
    /// A request a message, all over one connection.
    Http { stream: BufReader<TcpStream>, address: String, token: String },
}

impl Peer {
    fn stdio(mut command: Command) -> Result<Self> {
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().ok_or("it is a pipe")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("it is a pipe")?);
        Ok(Self { child, way: Way::Stdio { stdin, stdout } })
    }

    /// From the first byte of a request to the last one of its answer, in µs.
    fn round_trip_us(&mut self, line: &str) -> Result<f64> {
        let begun = Instant::now();
        let answer = match &mut self.way {
            Way::Stdio { stdin, stdout } => {
                stdin.write_all(format!("{line}\n").as_bytes())?;
                let mut answer = String::new();
                stdout.read_line(&mut answer)?;
                answer
            }
            Way::Http { stream, address, token } => post(stream, address, token, line)?,
        };
        let took = begun.elapsed();
        if answer.is_empty() || answer.contains("\"error\"") || answer.contains("\"isError\":true")
        {
            return Err(format!("it answered {answer:?}").into());
        }
        Ok(took.as_secs_f64() * 1e6)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One request over a connection that stays.
fn post(
    stream: &mut BufReader<TcpStream>,
    address: &str,
    token: &str,
    line: &str,
) -> Result<String> {
    let message: Value = serde_json::from_str(line)?;
    let method = message["method"].as_str().unwrap_or_default();
    let name = message["params"]["name"].as_str().unwrap_or_default();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\n{token}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: {method}\r\nMcp-Name: {name}\r\nContent-Length: {}\r\n\r\n",
        line.len()
    );
    stream.get_mut().write_all(format!("{head}{line}").as_bytes())?;
    let (mut text, mut n_bytes) = (String::new(), None);
    while !text.ends_with("\r\n\r\n") {
        let from = text.len();
        stream.read_line(&mut text)?;
        if let Some(n) = text[from..].to_ascii_lowercase().strip_prefix("content-length:") {
            n_bytes = Some(n.trim().parse::<usize>()?);
        }
    }
    if let Some(n) = n_bytes {
        let mut body = vec![0; n];
        stream.read_exact(&mut body)?;
        return Ok(String::from_utf8(body)?);
    }
    // Events come in chunks, of which each says how long it is (RFC 9112, 7.1).
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        stream.read_line(&mut size)?;
        let n = usize::from_str_radix(size.trim(), 16)?;
        let mut chunk = vec![0; n + 2];
        stream.read_exact(&mut chunk)?;
        body.extend_from_slice(&chunk[..n]);
        if n == 0 {
            return Ok(String::from_utf8(body)?);
        }
    }
}
