//! Medians and ratios over rounds.

/// The middle of some numbers, and the quarters around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quartiles {
    pub(crate) lower: f64,
    pub(crate) median: f64,
    pub(crate) upper: f64,
}

impl Quartiles {
    /// Of one number or more; between two neighbours it is interpolated.
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * (sorted.len() - 1) as f64;
            let below = sorted[place.floor() as usize];
            let above = sorted[place.ceil() as usize];
            below + (above - below) * place.fract()
        };
        Self { lower: at(0.25), median: at(0.5), upper: at(0.75) }
    }

    /// Of each number divided by the one of the same round.
    pub(crate) fn of_ratios(numbers: &[f64], to: &[f64]) -> Self {
        Self::of(numbers.iter().zip(to).map(|(number, to)| number / to))
    }
}

/// The smallest number.
pub(crate) fn least(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The largest number.
pub(crate) fn most(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::Quartiles;

    #[track_caller]
    fn check(numbers: &[f64], [lower, median, upper]: [f64; 3]) {
        assert_eq!(Quartiles::of(numbers.iter().copied()), Quartiles { lower, median, upper });
    }

    #[test]
    fn quartiles_lie_between_the_numbers() {
        check(&[7.0], [7.0, 7.0, 7.0]);
        check(&[2.0, 1.0], [1.25, 1.5, 1.75]);
        check(&[5.0, 1.0, 4.0, 2.0, 3.0], [2.0, 3.0, 4.0]);
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        // The second round was twice as slow for both, which is no difference between them.
        let ratios = Quartiles::of_ratios(&[110.0, 220.0], &[100.0, 200.0]);
        assert_eq!(ratios.median, 1.1);
    }
}
