//! The picture in the README: a screen of a team at work, drawn from the buffer that a terminal would get.

use atm_support::picture::{self, Piece};
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

use super::fixture::{buffer, known, mail, opened, state, team};
use crate::event::{Event, Loaded};
use crate::theme::Theme;
use crate::update::update;

const SIZE: (u16, u16) = (112, 26);
const LABEL: &str = "atm ui on a team in which one member does not answer";

fn classes(cell: &Cell) -> String {
    let color = match cell.fg {
        Color::Red => Some("s31"),
        Color::Green => Some("s32"),
        Color::Yellow => Some("s33"),
        Color::Blue => Some("s34"),
        Color::Magenta => Some("s35"),
        Color::Cyan => Some("s36"),
        _ => None,
    };
    let is = |modifier, class| cell.modifier.contains(modifier).then_some(class);
    let all = [is(Modifier::BOLD, "s1"), is(Modifier::DIM, "s2"), color];
    all.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_readme_shows_what_the_ui_draws() {
    let mut state = state(SIZE.0, SIZE.1);
    state.theme = Theme::Terminal;
    let load = |state: &mut _, loaded| drop(update(state, Event::Loaded(Box::new(loaded))));
    let mut ops = known();
    ops.plans.clear();
    ops.picture.attention.clear();
    load(&mut state, Loaded::Team(team("ops"), Ok(ops)));
    let (of, now) = (state.mail.of.clone(), state.now);
    let rows: Vec<_> = mail().into_iter().filter(|row| row.text.is_ascii()).collect();
    state.mail.chosen = Some(rows[1].id.clone());
    load(&mut state, Loaded::Mail(of, now, Ok(rows)));
    let id = state.message.id.clone();
    load(&mut state, Loaded::Message(id, now, Ok(opened())));
    let buffer = buffer(&state);
    let lines: Vec<Vec<Piece>> = (0..SIZE.1)
        .map(|y| {
            let mut line: Vec<Piece> = Vec::new();
            for x in 0..SIZE.0 {
                let cell = &buffer[(x, y)];
                let (classes, is_reversed) = (classes(cell), cell.modifier.contains(Modifier::REVERSED));
                match line.last_mut() {
                    Some(last) if last.classes == classes && last.is_reversed == is_reversed => {
                        last.text.push_str(cell.symbol());
                    }
                    _ => line.push(Piece { text: cell.symbol().to_owned(), classes, is_reversed }),
                }
            }
            line
        })
        .collect();
    picture::keep("ui.svg", &picture::draw(&lines, usize::from(SIZE.0), LABEL));
}
