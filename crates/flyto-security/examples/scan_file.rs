//! Prints what is found in files: `cargo run -p flyto-security --example scan_file -- FILE…`.

#![expect(clippy::print_stdout, reason = "an example talks to the person who runs it")]

use std::{error::Error, fs, process::ExitCode};

use flyto_security::{DefaultGuard, SecretGuard, Tier};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let guard = DefaultGuard::builder().env_values(std::env::vars()).build();
    let mut worst = None;
    for path in std::env::args().skip(1) {
        for found in guard.scan(&path, &fs::read(&path)?)? {
            println!("{path}: {found}; {}", found.advice());
            worst = worst.max(Some(found.tier));
        }
    }
    Ok(if worst >= Some(Tier::Block) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
