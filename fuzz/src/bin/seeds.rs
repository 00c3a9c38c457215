//! Writes the inputs that a decoder begins with: `seeds NAME FIXTURES DIR`.

#![forbid(unsafe_code)]

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [name, fixtures, dir] = &args[..] else {
        return Err("usage: seeds NAME FIXTURES DIR".into());
    };
    fs::create_dir_all(dir)?;
    for (at, seed) in flyto_fuzz::seeds(name, Path::new(fixtures))?.into_iter().enumerate() {
        fs::write(Path::new(dir).join(format!("seed-{at:04}")), seed)?;
    }
    Ok(())
}
