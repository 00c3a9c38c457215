//! Aligned columns.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::screen::{Page, look};

/// Blanks between two columns.
const GAP: usize = 2;
/// The last column gets at least this much, and runs over the edge of a narrow terminal.
const LAST_AT_LEAST: usize = 20;

/// Rows of cells under a head. The last column is cut to the width of the terminal.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    /// The style of the first column.
    style: Style,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: impl IntoIterator<Item = &'static str>) -> Self {
        Self { head: head.into_iter().collect(), style: look::NAME, rows: Vec::new() }
    }

    /// Adds a row. Cells are one line each, and tame.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn draw(&self, page: Page) -> String {
        let n_columns = self.head.len();
        let width_of = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|it| it.width()).chain([self.head[column].width()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..n_columns).map(width_of).collect();
        let before_last: usize = widths.iter().rev().skip(1).map(|it| it + GAP).sum();
        let last = page.width.map(|it| it.saturating_sub(before_last).max(LAST_AT_LEAST));

        let mut res = String::new();
        let head: Vec<String> = self.head.iter().map(|it| (*it).to_owned()).collect();
        for (is_head, row) in
            [(true, &head)].into_iter().chain(self.rows.iter().map(|it| (false, it)))
        {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let is_last = column + 1 == n_columns;
                let cell = match last {
                    Some(last) if is_last => cut(cell, last),
                    _ => cell.clone(),
                };
                let padding = if is_last { 0 } else { widths[column] + GAP - cell.width() };
                let styled = match (is_head, column) {
                    (true, _) => page.styled(look::HEAD, &cell),
                    (false, 0) => page.styled(self.style, &cell),
                    _ => cell,
                };
                line.push_str(&styled);
                line.extend(std::iter::repeat_n(' ', padding));
            }
            res.push_str(line.trim_end());
            res.push('\n');
        }
        res
    }
}

/// The beginning of `text` that takes `width` columns at most; an ellipsis shows that there is more.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut res = String::new();
    let mut taken = 0;
    for c in text.chars() {
        taken += c.width().unwrap_or(0);
        // One column stays for the ellipsis.
        if taken >= width {
            break;
        }
        res.push(c);
    }
    res.truncate(res.trim_end().len());
    res.push('…');
    res
}

/// Lines of a name and a value each, values aligned. A value may have lines of its own.
pub(crate) fn facts(page: Page, facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.width()).max().unwrap_or(0) + GAP;
    let mut res = String::new();
    for (name, value) in facts {
        let mut lines = value.lines();
        let first = lines.next().unwrap_or_default();
        let padding = " ".repeat(width - name.width());
        res.push_str(page.styled(look::FAINT, name).as_str());
        res.push_str(format!("{padding}{first}").trim_end());
        res.push('\n');
        for line in lines {
            res.push_str(format!("{}{line}", " ".repeat(width)).trim_end());
            res.push('\n');
        }
    }
    res
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(rows: &[[&str; 3]], width: Option<usize>, expect: Expect) {
        let mut table = Table::new(["NAME", "CLASS", "DESCRIPTION"]);
        for row in rows {
            table.row(row.map(str::to_owned));
        }
        expect.assert_eq(&table.draw(Page { width, ..Page::default() }));
    }

    const ROWS: &[[&str; 3]] = &[
        ["text-stats:count", "file", "Counts the lines, words and characters of a text."],
        ["数:え", "readonly", "文字を数える文字を数える文字を数える"],
        ["x", "", ""],
    ];

    #[test]
    fn columns_are_aligned_by_width() {
        check(
            ROWS,
            None,
            expect![[r#"
            NAME              CLASS     DESCRIPTION
            text-stats:count  file      Counts the lines, words and characters of a text.
            数:え             readonly  文字を数える文字を数える文字を数える
            x
        "#]],
        );
    }

    #[test]
    fn the_last_column_is_cut() {
        check(
            ROWS,
            Some(50),
            expect![[r#"
            NAME              CLASS     DESCRIPTION
            text-stats:count  file      Counts the lines, wor…
            数:え             readonly  文字を数える文字を数…
            x
        "#]],
        );
        check(
            ROWS,
            Some(10),
            expect![[r#"
            NAME              CLASS     DESCRIPTION
            text-stats:count  file      Counts the lines, w…
            数:え             readonly  文字を数える文字を…
            x
        "#]],
        );
    }

    #[test]
    fn facts_are_aligned_with_all_their_lines() {
        let facts = facts(Page::default(), &[("a", "1".into()), ("long", "2\n3".into())]);
        expect![[r#"
            a     1
            long  2
                  3
        "#]]
        .assert_eq(&facts);
    }

    #[test]
    fn a_cut_leaves_room_for_its_mark() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("abcd efg", 6), "abcd…");
        assert_eq!(cut("数え上げ", 6), "数え…");
    }
}
