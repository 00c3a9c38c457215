//! Every decoder reads the fixtures, whole and damaged, without a panic.

use std::path::Path;

/// How many damaged copies of each input are tried.
const N_DAMAGED: u64 = 6;

#[test]
fn every_decoder_refuses_what_it_cannot_read() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    for (name, decode) in flyto_fuzz::TARGETS {
        let seeds = flyto_fuzz::seeds(name, &fixtures).expect("the fixtures can be read");
        assert!(!seeds.is_empty(), "{name} has nothing to begin with");
        for seed in seeds {
            decode(&seed);
            for number in 0..N_DAMAGED {
                decode(&damaged(&seed, number));
            }
        }
    }
}

#[test]
fn every_target_has_a_binary() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_targets");
    let files = std::fs::read_dir(dir).expect("it is there");
    let mut binaries: Vec<String> = files
        .map(|it| it.expect("it can be read").path())
        .filter_map(|it| Some(it.file_stem()?.to_str()?.to_owned()))
        .collect();
    binaries.sort();
    let targets: Vec<&str> = flyto_fuzz::TARGETS.iter().map(|it| it.0).collect();
    assert_eq!(binaries, targets);
}

/// A copy that ends early, or in which a byte is another one or a piece stands twice.
fn damaged(seed: &[u8], number: u64) -> Vec<u8> {
    // The same damage at each run (Knuth's multiplier of a linear congruential generator).
    let random = |n: u64| (n.wrapping_mul(6_364_136_223_846_793_005) >> 33) as usize;
    let mut res = seed.to_vec();
    if res.is_empty() {
        return res;
    }
    let at = random(number + seed.len() as u64) % res.len();
    match number % 3 {
        0 => res.truncate(at),
        1 => res[at] = random(number + 1) as u8,
        _ => {
            let piece = res[at..].to_vec();
            res.extend(piece);
        }
    }
    res
}
