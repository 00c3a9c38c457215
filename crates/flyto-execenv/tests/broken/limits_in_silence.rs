//! Keeps limits, as a shell can set them, and does not say when one ended a program.

use flyto_execenv::{Capabilities, Capability, Limits, Program, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct LimitsInSilence;

impl Fault for LimitsInSilence {
    fn capabilities(&self, right: Capabilities) -> Capabilities {
        right.with([
            Capability::CpuLimit,
            Capability::MemoryLimit,
            Capability::FileSizeLimit,
            Capability::OpenFilesLimit,
        ])
    }

    fn spec(&self, mut spec: Spec) -> Spec {
        let Limits { cpu_time, memory_bytes, file_size_bytes, open_files, .. } = &spec.limits;
        let set = |option: &str, limit: Option<u64>| {
            limit.map_or_else(String::new, |it| format!("ulimit -{option} {it}; "))
        };
        let script = [
            set("t", cpu_time.map(|it| it.as_secs())),
            set("v", memory_bytes.map(|it| it / 1024)),
            // In blocks of 512 bytes, as POSIX has it.
            set("f", file_size_bytes.map(|it| it / 512)),
            set("n", *open_files),
        ]
        .concat();
        if script.is_empty() {
            return spec;
        }
        let set_then_run = format!("{script}exec \"$@\"").into();
        let program = spec.program.as_os_str().to_owned();
        let given = ["-c".into(), set_then_run, "sh".into(), program];
        spec.args = given.into_iter().chain(spec.args).collect();
        spec.program = Program::from("/bin/sh");
        spec.limits(Limits::new())
    }
}

/// A program that notices by itself what it does not get is none of the backend's doing.
#[test]
fn the_outcome_does_not_name_the_limit() {
    check::<LimitsInSilence>(&["cpu-time-is-limited", "file-size-is-limited"]);
}
