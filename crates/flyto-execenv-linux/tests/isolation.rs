//! Isolation holds through the backend, and says what it is.

#![cfg(supervised)]

#[path = "../src/ordinary.rs"]
mod ordinary;

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use expect_test::expect;
use flyto_execenv::{
    Capability, Class, ExecEnv, ExecErrorKind, Filesystem, Grants, Isolation, Network, Outcome,
    Output, Policies, Policy, Profile, ProfilePlaces, Program, Sha256, Spec,
};
use flyto_execenv_linux::Linux;
use sha2::Digest;

use self::ordinary::{GUARD, is_ordinary};

/// A handle whose plugin tools run in this profile, with a home directory and a project in `dir`.
fn env(profile: Profile, dir: &Path) -> ExecEnv {
    for sub in ["home/.ssh", "home/project", "tmp"] {
        fs::create_dir_all(dir.join(sub)).expect("it is ours");
    }
    for file in ["home/.ssh/key", "home/notes"] {
        fs::write(dir.join(file), file).expect("it is ours");
    }
    let places = ProfilePlaces::new(dir.join("home/project"))
        .home(dir.join("home"))
        .temp_dir(dir.join("tmp"));
    let policy = Policy::new().isolation(profile.isolation(&places));
    let policies = Policies::new().class(Class::PLUGIN_TOOL, policy);
    ExecEnv::builder(Linux::new()).policies(policies).build()
}

async fn sh(env: &ExecEnv, dir: &Path, grants: Grants, script: &str) -> (String, Outcome) {
    let spec = Spec::new("/bin/sh")
        .args(["-c", script])
        .env_var("PATH", "/usr/bin:/bin")
        .env_var("HOME", dir.join("home"))
        .env_var("LC_ALL", "C")
        .working_dir(dir.join("home/project"))
        .merge_stderr()
        .grants(grants)
        .deadline(GUARD);
    let outcome = env.run(spec).await.expect("there is a shell");
    (String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned(), outcome)
}

#[tokio::test]
async fn a_class_is_confined_and_a_grant_opens_what_it_names() {
    if !is_ordinary("a_class_is_confined_and_a_grant_opens_what_it_names").await {
        return;
    }
    let dir = tempfile::tempdir().expect("there is room");
    let dir = &dir.path().canonicalize().expect("it is there");
    let env = env(Profile::Workspace, dir);
    let script = "cat ~/notes; echo; cat ~/.ssh/key; echo x > ~/notes; echo x > made && cat made";

    let (text, outcome) = sh(&env, dir, Grants::new(), script).await;
    assert!(text.starts_with("home/notes\ncat: "), "{text}");
    assert!(!text.contains("home/.ssh/key\n") && text.ends_with("\nx\n"), "{text}");
    assert_eq!(fs::read_to_string(dir.join("home/notes")).expect("it is there"), "home/notes");
    for capability in [
        Capability::FilesystemGrants,
        Capability::FilesystemDenials,
        Capability::FilesystemReadOnly,
        Capability::LocalSocketsOff,
        Capability::SystemCallFilter,
        Capability::ProcessIsolation,
        Capability::OwnSharedMemory,
    ] {
        assert!(outcome.enforced.contains(&capability), "{capability}");
    }
    assert!(!outcome.enforced.contains(&Capability::NetworkOff));

    let grants = Grants::new().read(dir.join("home/.ssh")).network(Network::Off);
    let (text, outcome) = sh(&env, dir, grants, "cat ~/.ssh/key").await;
    assert_eq!(text, "home/.ssh/key");
    assert!(outcome.enforced.contains(&Capability::NetworkOff));
}

/// Locks and queues of `multiprocessing` are in shared memory, as sem_open(3) makes them.
#[tokio::test]
async fn shared_memory_works_and_is_gone_with_the_call() {
    if !is_ordinary("shared_memory_works_and_is_gone_with_the_call").await {
        return;
    }
    let dir = tempfile::tempdir().expect("there is room");
    let dir = &dir.path().canonicalize().expect("it is there");
    let env = env(Profile::Workspace, dir);
    let script = "/usr/bin/python3 -c '
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
with multiprocessing.Lock(), ProcessPoolExecutor(2) as pool: print(list(pool.map(abs, [-1, -2])))
'; ls /dev/shm";
    let (text, outcome) = sh(&env, dir, Grants::new(), script).await;
    assert_eq!(text, "[1, 2]\n");
    assert!(outcome.enforced.contains(&Capability::OwnSharedMemory));

    // What it can leave: files, and what is known about the directory. By setxattr(2) and listxattr(2).
    let attribute = "perl -e 'my ($dir, $name, $value) = qw(/dev/shm user.left x);
        syscall(188, $dir, $name, $value, 1, 0)'";
    for left in ["echo left > /dev/shm/left", "chmod 700 /dev/shm", attribute] {
        let (text, _) = sh(&env, dir, Grants::new(), left).await;
        assert_eq!(text, "", "{left}");
        let look = "ls -A /dev/shm; stat -c %a /dev/shm
            perl -e 'my $dir = shift; print syscall(194, $dir, 0, 0)' /dev/shm";
        let (text, _) = sh(&env, dir, Grants::new(), look).await;
        assert_eq!(text, "1777\n0", "{left}");
    }
}

#[tokio::test]
async fn a_pinned_script_is_readable_where_only_grants_are() {
    if !is_ordinary("a_pinned_script_is_readable_where_only_grants_are").await {
        return;
    }
    let dir = tempfile::tempdir().expect("there is room");
    let dir = &dir.path().canonicalize().expect("it is there");
    let env = env(Profile::Strict, dir);
    let path = dir.join("home/project/tool");
    let script = "#!/bin/sh\necho ran; cat ~/notes\n";
    fs::write(&path, script).expect("it is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let sha256 = Sha256(sha2::Sha256::digest(script).into());
    let spec = Spec::new(Program::Pinned { path, sha256 })
        .env_var("PATH", "/usr/bin:/bin")
        .env_var("HOME", dir.join("home"))
        .working_dir(dir.join("home/project"))
        .stderr(Output::Null)
        .deadline(GUARD);
    let outcome = env.run(spec).await.expect("its copy is readable");
    assert_eq!(&*outcome.stdout.bytes(), b"ran\n", "{outcome:?}");
}

#[tokio::test]
async fn what_appears_beside_a_secret_is_there_for_the_next_call() {
    let dir = tempfile::tempdir().expect("there is room");
    let dir = &dir.path().canonicalize().expect("it is there");
    let env = env(Profile::Workspace, dir);
    let (text, _) = sh(&env, dir, Grants::new(), "cat ~/new").await;
    assert!(text.starts_with("cat: "), "{text}");
    fs::write(dir.join("home/new"), "new").expect("it is ours");
    fs::write(dir.join("home/.npmrc"), "token").expect("it is ours");
    let (text, _) = sh(&env, dir, Grants::new(), "cat ~/new ~/.npmrc").await;
    assert!(text.starts_with("new") && !text.contains("token"), "{text}");
}

#[tokio::test]
async fn each_blocked_host_is_reported_once() {
    let env = ExecEnv::new(Linux::new());
    let isolation = |hosts: &[&str]| {
        let hosts = hosts.iter().map(|it| it.parse().expect("a pattern")).collect();
        Isolation::new().network(Network::Hosts(hosts))
    };
    let run = async |asked: &str, isolation: Isolation| {
        let ask = "for to; do exec 3<>/dev/tcp/127.0.0.1/880
            printf 'CONNECT %s HTTP/1.1\\r\\n\\r\\n' \"$to\" >&3; read -r line <&3; done";
        let spec = Spec::new("/bin/bash").args(["-c", ask, "bash"]).args(asked.split(' '));
        let spec = spec.env_var("PATH", "/usr/bin:/bin").isolation(isolation).deadline(GUARD);
        let outcome = env.run(spec).await.expect("there is a bash");
        let denied = outcome.denied_hosts.iter();
        denied.map(|it| format!("{}: {}\n", it.place(), it.why)).collect::<String>()
    };
    if !env.capabilities(&Class::PLUGIN_TOOL).expect("one").has(Capability::NetworkHosts) {
        println!("skipped: this user makes no network namespaces here");
        return;
    }
    let asked = "a.test:443 A.test:443 [::1]:80 localhost:9 a.test:80 127.0.0.1:9";
    let hosts = ["localhost:9", "127.0.0.1:9"];
    // The address is named, and no program listens there, which is no denial.
    expect![[r#"
        a.test:443: host not allowed
        [::1]:80: host not allowed
        a.test:80: host not allowed
    "#]]
    .assert_eq(&run(asked, isolation(&hosts)).await);
    // The next call below the same supervisor begins anew.
    expect![""].assert_eq(&run("127.0.0.1:9", isolation(&hosts)).await);
    let denied = run("localhost:9", isolation(&["localhost"])).await;
    assert!(denied.contains("an internal address that is not allowed"), "{denied}");
    let many: Vec<_> = (1..=40).map(|it| format!("a.test:{it}")).collect();
    assert_eq!(run(&many.join(" "), isolation(&[])).await.lines().count(), 16);
}

#[tokio::test]
async fn what_cannot_be_kept_is_refused() {
    let env = ExecEnv::new(Linux::new());
    for (isolation, kind) in [
        (Isolation::new().deny("/proc"), ExecErrorKind::Unsupported),
        (Isolation::new().deny("secret"), ExecErrorKind::InvalidSpec),
    ] {
        let err = env.run(Spec::new("/bin/true").isolation(isolation)).await;
        let err = err.expect_err("it is refused");
        assert_eq!((err.kind(), err.did_start()), (kind, false), "{err}");
    }
}

/// Checks that a later call of the same host reads what is at a granted path after a change, as the first call of another host
/// would.
async fn check_granted(make: impl Fn(&Path), change: impl AsyncFn(&Path), expect: [&str; 2]) {
    let dir = tempfile::tempdir().expect("there is room");
    let dir = &dir.path().canonicalize().expect("it is there");
    make(dir);
    let env = ExecEnv::new(Linux::new());
    let system = ["/bin", "/usr", "/lib", "/lib64", "/etc/ld.so.cache"];
    let granted = ["granted", "link/inner"].map(|it| dir.join(it));
    let read = system.into_iter().map(Into::into).chain(granted).collect();
    let write = ["/dev/null".into()].into();
    let isolation = Isolation::new().filesystem(Filesystem::Grants { read, write });
    let look = || {
        let script = "cat granted granted/file link/inner 2>/dev/null; :";
        let spec = Spec::new("/bin/sh").args(["-c", script]).working_dir(dir).deadline(GUARD);
        env.run(spec.env_var("PATH", "/usr/bin:/bin").isolation(isolation.clone()))
    };
    let said = |it: Outcome| String::from_utf8_lossy(&it.stdout.bytes()).into_owned();
    let before = said(look().await.expect("there is a shell"));
    assert_eq!(said(look().await.expect("there is a shell")), before);
    change(dir).await;
    let after = said(look().await.expect("there is a shell"));
    assert_eq!([&*before, &*after], expect);
}

#[tokio::test]
async fn a_granted_path_is_what_is_there_at_the_call() {
    if !is_ordinary("a_granted_path_is_what_is_there_at_the_call").await {
        return;
    }
    let write = |it: PathBuf, text: &str| fs::write(it, text).expect("it is ours");
    let rename = |from: PathBuf, to: PathBuf| fs::rename(from, to).expect("it is ours");
    let saved = async |it: &Path| {
        write(it.join("new"), "new");
        rename(it.join("new"), it.join("granted"));
    };
    check_granted(|it| write(it.join("granted"), "old"), saved, ["old", "new"]).await;
    check_granted(|_| (), saved, ["", "new"]).await;
    let filled = |it: &Path, name: &str, text: &str| {
        fs::create_dir(it.join(name)).expect("it is ours");
        write(it.join(name).join("file"), text);
    };
    let upgraded = async |it: &Path| {
        filled(it, "next", "new");
        fs::remove_dir_all(it.join("granted")).expect("it is ours");
        rename(it.join("next"), it.join("granted"));
    };
    check_granted(|it| filled(it, "granted", "old"), upgraded, ["old", "new"]).await;
    let linked = |it: &Path| {
        fs::create_dir(it.join("real")).expect("it is ours");
        write(it.join("real/inner"), "inner");
        symlink("real", it.join("link")).expect("it is ours");
    };
    let unlinked = async |it: &Path| {
        fs::remove_file(it.join("link")).expect("it is ours");
        rename(it.join("real"), it.join("link"));
    };
    check_granted(linked, unlinked, ["", "inner"]).await;
}

/// A mount leaves no trace in the directory of what it covers.
#[tokio::test]
async fn what_is_mounted_over_a_granted_path_is_granted() {
    const INSIDE: &str = "FLYTO_TEST_WITH_MOUNTS";
    if std::env::var_os(INSIDE).is_none() {
        let test = "what_is_mounted_over_a_granted_path_is_granted";
        let spec = Spec::new("unshare")
            .args(["--user", "--map-root-user", "--mount"])
            .arg(std::env::current_exe().expect("it runs").into_os_string())
            .args(["--exact", test, "--nocapture"])
            .env_var("PATH", "/usr/bin:/bin")
            .env_var(INSIDE, "1");
        let outcome = ordinary::run(spec).await;
        let text = String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned();
        if !outcome.success() && !text.contains("running 1 test") {
            println!("skipped: no user namespace can be made here");
            return;
        }
        assert!(outcome.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let filled = |it: &Path| {
        for (name, text) in [("granted", "old"), ("other", "new")] {
            fs::create_dir(it.join(name)).expect("it is ours");
            fs::write(it.join(name).join("file"), text).expect("it is ours");
        }
        let settled = std::time::SystemTime::now() + std::time::Duration::from_millis(100);
        while std::time::SystemTime::now() < settled {
            std::thread::yield_now();
        }
    };
    let mounted = async |it: &Path| {
        let (from, to) = (it.join("other"), it.join("granted"));
        let mount = Spec::new("mount").arg("--bind").args([from, to]);
        assert!(ordinary::run(mount.env_var("PATH", "/usr/bin:/bin")).await.success());
    };
    check_granted(filled, mounted, ["old", "new"]).await;
}
