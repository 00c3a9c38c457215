//! Showing figures as Markdown.

use std::fmt;

use crate::statistics::Quartiles;

/// A Markdown table; numbers are aligned to the right, so that columns can be compared.
#[derive(Debug)]
pub(crate) struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(heads: [&str; N]) -> Self {
        Self { heads: heads.map(str::to_owned).into(), rows: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..self.heads.len())
            .map(|column| {
                let cells = self.rows.iter().chain([&self.heads]);
                cells.map(|row| row[column].chars().count()).max().unwrap_or(0).max(3)
            })
            .collect();
        let line = |f: &mut fmt::Formatter<'_>, cells: &[String]| {
            for (i, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                match i {
                    0 => write!(f, "| {cell:<width$} |")?,
                    _ => write!(f, " {cell:>width$} |")?,
                }
            }
            writeln!(f)
        };
        line(f, &self.heads)?;
        let rules: Vec<String> = widths
            .iter()
            .enumerate()
            .map(|(i, width)| match i {
                0 => "-".repeat(*width),
                _ => format!("{}:", "-".repeat(width - 1)),
            })
            .collect();
        line(f, &rules)?;
        self.rows.iter().try_for_each(|row| line(f, row))
    }
}

/// A ratio with its quartiles, such as `1.17 [1.12, 1.25]`.
pub(crate) fn ratio(it: Quartiles) -> String {
    format!("{:.2} [{:.2}, {:.2}]", it.median, it.lower, it.upper)
}

/// How far a ratio may go.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reach {
    /// Met when the upper quartile is not above it.
    AtMost(f64),
    /// Met when the lower quartile is not below it.
    AtLeast(f64),
    /// A figure to compare with.
    None,
}

impl Reach {
    /// Two cells: the reach, and whether `figure` meets it.
    pub(crate) fn cells(self, figure: Quartiles) -> [String; 2] {
        let word = |is_met| if is_met { "yes" } else { "no" }.to_owned();
        match self {
            Self::AtMost(most) => [format!("≤ {most:.2}"), word(figure.upper <= most)],
            Self::AtLeast(least) => [format!("≥ {least:.2}"), word(figure.lower >= least)],
            Self::None => [String::new(), String::new()],
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Reach, Table, ratio};
    use crate::statistics::Quartiles;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(["variant", "p50 µs", "met"]);
        table.row(["C".into(), "87.0".into(), String::new()]);
        table.row(["a longer name".into(), "1234.5".into(), "yes".into()]);
        expect![[r#"
            | variant       | p50 µs | met |
            | ------------- | -----: | --: |
            | C             |   87.0 |     |
            | a longer name | 1234.5 | yes |
        "#]]
        .assert_eq(&table.to_string());
    }

    #[test]
    fn a_reach_is_met_by_the_quartile_that_is_further_out() {
        let figure = Quartiles { lower: 1.1, median: 1.2, upper: 1.3 };
        assert_eq!(ratio(figure), "1.20 [1.10, 1.30]");
        assert_eq!(Reach::AtMost(1.3).cells(figure), ["≤ 1.30", "yes"]);
        assert_eq!(Reach::AtMost(1.25).cells(figure), ["≤ 1.25", "no"]);
        assert_eq!(Reach::AtLeast(1.1).cells(figure), ["≥ 1.10", "yes"]);
        assert_eq!(Reach::AtLeast(1.15).cells(figure), ["≥ 1.15", "no"]);
    }
}
