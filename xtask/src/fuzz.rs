//! `fuzz`: has libFuzzer look for inputs on which a decoder panics, or takes too much time or memory.
//!
//! No nightly compiler and no further tool is needed: the passes of LLVM that libFuzzer builds on
//! (<https://clang.llvm.org/docs/SanitizerCoverage.html>) are options of the stable compiler.

use std::fs;

use crate::{
    process::{cargo, program, root, run as run_program},
    stop::Stop,
};

/// What has the compiler note which code an input reaches.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions -Coverflow-checks";

/// Memory of one decoder, in MiB, and seconds for one input.
const BOUNDS: [&str; 2] = ["-rss_limit_mb=1024", "-timeout=10"];

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    let (name, seconds) = parse(args)?;
    let targets = names()?;
    if !targets.contains(&name) {
        let known = targets.join(", ");
        return Err(Stop::usage(format!("there is no decoder `{name}`; there are {known}")));
    }
    let place = root().join("target/fuzz");
    let (corpus, found) = (place.join("corpus").join(&name), place.join("found").join(&name));
    for dir in [&corpus, &found] {
        fs::create_dir_all(dir).map_err(|err| Stop::because(format!("make {dir:?}"), &err))?;
    }
    let mut seeds = cargo("run --quiet -p flyto-fuzz --bin seeds --");
    seeds.arg(&name).arg(root().join("fixtures")).arg(&corpus);
    run_program(seeds)?;
    // The target is named so that the flags are for the decoders and not for build scripts.
    let host = host()?;
    let mut build = cargo("build --profile fuzz -p flyto-fuzz --target");
    build.arg(&host).arg("--bin").arg(&name).arg("--target-dir").arg(place.join("build"));
    build.env("RUSTFLAGS", COVERAGE);
    run_program(build)?;
    let binary = place.join("build").join(host).join("fuzz").join(&name);
    let mut fuzz = program(binary);
    fuzz.arg(&corpus).args(BOUNDS).arg(format!("-max_total_time={seconds}"));
    fuzz.arg(format!("-artifact_prefix={}/", found.display())).arg("-print_final_stats=1");
    run_program(fuzz)
}

/// Reads `NAME [--seconds N]`.
fn parse(args: &[String]) -> Result<(String, u64), Stop> {
    let usage = || Stop::usage("`fuzz` needs the name of a decoder, and may have `--seconds N`");
    match args {
        [name] => Ok((name.clone(), 60)),
        [name, flag, seconds] if flag == "--seconds" => {
            Ok((name.clone(), seconds.parse().map_err(|_| usage())?))
        }
        _ => Err(usage()),
    }
}

/// The decoders, each of which has a file.
fn names() -> Result<Vec<String>, Stop> {
    let dir = root().join("fuzz/fuzz_targets");
    let files = fs::read_dir(&dir).map_err(|err| Stop::because(format!("read {dir:?}"), &err))?;
    let stem = |path: std::path::PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let mut res: Vec<String> = files.filter_map(|it| stem(it.ok()?.path())).collect();
    res.sort();
    Ok(res)
}

/// The machine's own target.
fn host() -> Result<String, Stop> {
    let text = crate::process::read({
        let mut rustc = program("rustc");
        rustc.arg("-vV");
        rustc
    })?;
    let line = text.lines().find_map(|it| it.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| Stop::failed("`rustc -vV` names no host"))
}
