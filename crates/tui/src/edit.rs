//! A text that is being typed: lines and a cursor.

use crossterm::event::{KeyCode, KeyModifiers};

use crate::keys::Key;

/// A text with a place in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Edit {
    lines: Vec<String>,
    row: usize,
    /// In characters.
    column: usize,
    is_one_line: bool,
}

impl Edit {
    /// One that may have several lines; the cursor is behind the text.
    pub(crate) fn new(text: &str) -> Self {
        let mut edit = Self { lines: vec![String::new()], ..Self::default() };
        edit.insert(text);
        edit
    }

    /// One of a single line.
    pub(crate) fn line(text: &str) -> Self {
        let mut edit = Self { lines: vec![String::new()], is_one_line: true, ..Self::default() };
        edit.insert(text);
        edit
    }

    /// All of it.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Row and column of the cursor.
    pub(crate) fn cursor(&self) -> (usize, usize) {
        (self.row, self.column)
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.lines.iter().all(|line| line.trim().is_empty())
    }

    /// Puts text where the cursor is. What cannot be seen does not get in, but for what spelling needs.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace(['\r'], "\n");
        for c in text.chars() {
            match c {
                '\n' if self.is_one_line => self.insert_char(' '),
                '\n' => self.break_line(),
                '\t' => (0..4).for_each(|_| self.insert_char(' ')),
                c if c.is_control() => {}
                c => self.insert_char(c),
            }
        }
    }

    fn insert_char(&mut self, c: char) {
        let at = self.byte();
        self.lines[self.row].insert(at, c);
        self.column += 1;
    }

    fn break_line(&mut self) {
        let at = self.byte();
        let rest = self.lines[self.row].split_off(at);
        self.row += 1;
        self.column = 0;
        self.lines.insert(self.row, rest);
    }

    /// Where the cursor is in its line's bytes.
    fn byte(&self) -> usize {
        let line = &self.lines[self.row];
        line.char_indices().nth(self.column).map_or(line.len(), |(at, _)| at)
    }

    fn length(&self) -> usize {
        self.lines[self.row].chars().count()
    }

    /// Takes a key; says whether it was one for a text.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('a') if control => self.column = 0,
            KeyCode::Char('e') if control => self.column = self.length(),
            KeyCode::Char('u') if control => {
                let at = self.byte();
                self.lines[self.row].drain(..at);
                self.column = 0;
            }
            KeyCode::Char('w') if control => self.delete_word(),
            KeyCode::Char(_) if control => return false,
            KeyCode::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Enter if !self.is_one_line => self.break_line(),
            KeyCode::Backspace => self.delete_before(),
            KeyCode::Delete => self.delete_behind(),
            KeyCode::Left => self.move_left(),
            KeyCode::Right => self.move_right(),
            KeyCode::Up if self.row > 0 => self.move_to_row(self.row - 1),
            KeyCode::Down if self.row + 1 < self.lines.len() => self.move_to_row(self.row + 1),
            KeyCode::Home => self.column = 0,
            KeyCode::End => self.column = self.length(),
            _ => return false,
        }
        true
    }

    fn move_to_row(&mut self, row: usize) {
        self.row = row;
        self.column = self.column.min(self.length());
    }

    fn move_left(&mut self) {
        if self.column > 0 {
            self.column -= 1;
        } else if self.row > 0 {
            self.row -= 1;
            self.column = self.length();
        }
    }

    fn move_right(&mut self) {
        if self.column < self.length() {
            self.column += 1;
        } else if self.row + 1 < self.lines.len() {
            self.row += 1;
            self.column = 0;
        }
    }

    fn delete_before(&mut self) {
        if (self.row, self.column) != (0, 0) {
            self.move_left();
            self.delete_behind();
        }
    }

    fn delete_behind(&mut self) {
        if self.column < self.length() {
            let at = self.byte();
            self.lines[self.row].remove(at);
        } else if self.row + 1 < self.lines.len() {
            let next = self.lines.remove(self.row + 1);
            self.lines[self.row].push_str(&next);
        }
    }

    fn delete_word(&mut self) {
        let before =
            |edit: &Self| edit.column.checked_sub(1).and_then(|at| edit.lines[edit.row].chars().nth(at));
        while before(self).is_some_and(char::is_whitespace) {
            self.delete_before();
        }
        while before(self).is_some_and(|c| !c.is_whitespace()) {
            self.delete_before();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(edit: &mut Edit, keys: &[KeyCode]) {
        for code in keys {
            edit.key(Key { code: *code, modifiers: KeyModifiers::NONE });
        }
    }

    #[test]
    fn what_is_typed_pasted_and_deleted_is_the_text() {
        use KeyCode::{Backspace, Char, Delete, Down, End, Enter, Home, Left, Right, Up};
        let mut edit = Edit::new("");
        typed(&mut edit, &[Char('a'), Char('c'), Left, Char('b'), End, Enter, Char('d')]);
        assert_eq!(edit.text(), "abc\nd");
        typed(&mut edit, &[Backspace, Backspace, Char('!'), Home, Delete]);
        assert_eq!(edit.text(), "bc!");
        edit.insert("x\r\ny\u{1b}[31m\tz");
        assert_eq!(edit.text(), "x\ny[31m    zbc!");
        typed(&mut edit, &[Up, Up, Down, Left, Right, Home, Backspace]);
        assert_eq!(edit.text(), "xy[31m    zbc!");
        let control = |c: char| Key { code: Char(c), modifiers: KeyModifiers::CONTROL };
        edit.key(control('e'));
        edit.key(control('w'));
        assert_eq!(edit.text(), "xy[31m    ");
        edit.key(control('u'));
        assert!(edit.is_blank());
        assert!(!edit.key(control('s')), "that one is for others");
    }

    #[test]
    fn one_line_stays_one() {
        let mut edit = Edit::line("to\nbob");
        assert_eq!(edit.text(), "to bob");
        assert!(!edit.key(Key { code: KeyCode::Enter, modifiers: KeyModifiers::NONE }));
        assert!(!edit.key(Key { code: KeyCode::Down, modifiers: KeyModifiers::NONE }));
        typed(&mut edit, &[KeyCode::Home, KeyCode::Backspace, KeyCode::Left]);
        assert_eq!((edit.text().as_str(), edit.cursor()), ("to bob", (0, 0)));
    }
}
