//! Releases of the kernel.

/// Whether a kernel of this name (uname(2), `release`) is at least of this release. A name that cannot be
/// read counts as new.
pub(crate) fn is_at_least(kernel: &str, release: (u32, u32)) -> bool {
    let mut numbers = kernel.split(['.', '-', '+', '_']).map_while(|it| it.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => (major, minor) >= release,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::is_at_least;

    #[test]
    fn releases_are_compared_by_their_first_two_numbers() {
        for (kernel, expected) in [
            ("5.10.209-rt", false),
            ("5.11", true),
            ("5.9.16_1", false),
            ("6.8.0-45-generic", true),
            ("unknown", true),
        ] {
            assert_eq!(is_at_least(kernel, (5, 11)), expected, "{kernel}");
        }
    }
}
