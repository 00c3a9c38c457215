//! Compiles the supervisor: a static program without any library, with the `rustc` that compiles the
//! rest. It needs neither another target nor a C compiler beyond the linker that is in use anyway.
#![forbid(unsafe_code)]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=supervisor");
    println!("cargo::rerun-if-changed=src/bare");
    println!("cargo::rerun-if-env-changed=FLYTO_PORTABLE");
    println!("cargo::rustc-check-cfg=cfg(supervised, supervisor)");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
    // FLYTO_PORTABLE=1 compiles what other architectures get.
    let is_portable = is("FLYTO_PORTABLE", "1")
        || !is("CARGO_CFG_TARGET_OS", "linux")
        || !is("CARGO_CFG_TARGET_ARCH", "x86_64");
    if is_portable {
        return;
    }
    println!("cargo::rustc-cfg=supervised");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // The text includes itself, by these names.
    for (name, text) in flyto_supervision::SOURCES {
        fs::write(out.join(name), text).expect("OUT_DIR is writable");
    }
    let records = out.join("lib.rs");
    let common = ["--edition=2024", "-Copt-level=2", "-Cpanic=abort", "-Crelocation-model=static"];
    let rlib = out.join("libflyto_supervision.rlib");
    compile(&common, &["--crate-type=rlib", "--crate-name=flyto_supervision"], &records, &rlib);
    let external = format!("--extern=flyto_supervision={}", rlib.display());
    let linked = [
        "--crate-name=flyto_supervisor",
        "--cfg=supervisor",
        external.as_str(),
        "-Cstrip=symbols",
        "-Clink-arg=-nostartfiles",
        "-Clink-arg=-nostdlib",
        "-Clink-arg=-static",
        "-Clink-arg=-no-pie",
        // One segment less, and no page of memory for notes that are never read.
        "-Clink-arg=-Wl,--build-id=none,-z,norelro",
    ];
    compile(&common, &linked, Path::new("supervisor/main.rs"), &out.join("supervisor"));
}

#[expect(clippy::disallowed_methods, reason = "a build script runs the compiler itself")]
fn compile(common: &[&str], more: &[&str], source: &Path, target: &Path) {
    let mut command = Command::new(env::var_os("RUSTC").expect("cargo sets it"));
    command.args(common).args(more).arg(source).arg("-o").arg(target).stdin(Stdio::null());
    command.arg("--target").arg(env::var_os("TARGET").expect("cargo sets it"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("-Clinker=");
        option.push(linker);
        command.arg(option);
    }
    let status = command.status().expect("cargo runs the same compiler");
    assert!(status.success(), "compiling {} failed: {status}", source.display());
}
