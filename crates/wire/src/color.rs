//! Colours of members and messages.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A colour as it stands in a team's or a message's file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are their own description")]
pub enum Color {
    Blue,
    Green,
    Yellow,
    Magenta,
    Cyan,
    Red,
    Purple,
    Orange,
    Pink,
    /// What the system itself says.
    System,
    /// `#rrggbb`.
    Hex(u8, u8, u8),
    /// A spelling that we do not know, as it was.
    Other(String),
}

impl Color {
    /// The colour of a team's coordinator.
    pub const LEAD: Color = Color::Yellow;

    /// The colours that new members get, in this order; the lead's comes last.
    pub const IN_TURN: [Color; 6] =
        [Color::Blue, Color::Green, Color::Magenta, Color::Cyan, Color::Red, Color::Yellow];

    /// Understands a spelling in any case, `#RGB` and `#RRGGBB`; anything else is kept as it is.
    pub fn parse(spelling: &str) -> Color {
        let trimmed = spelling.trim();
        Color::by_name(&trimmed.to_ascii_lowercase())
            .or_else(|| Color::by_hex(trimmed))
            .unwrap_or_else(|| Color::Other(spelling.to_owned()))
    }

    /// The colour for the member at `index`, counted from 0; it starts again after the last.
    pub fn in_turn(index: usize) -> Color {
        let [first, ..] = Color::IN_TURN;
        Color::IN_TURN.into_iter().nth(index % Color::IN_TURN.len()).unwrap_or(first)
    }

    fn by_name(name: &str) -> Option<Color> {
        Some(match name {
            "blue" => Color::Blue,
            "green" => Color::Green,
            "yellow" => Color::Yellow,
            "magenta" => Color::Magenta,
            "cyan" => Color::Cyan,
            "red" => Color::Red,
            "purple" => Color::Purple,
            "orange" => Color::Orange,
            "pink" => Color::Pink,
            "system" => Color::System,
            _ => return None,
        })
    }

    fn by_hex(spelling: &str) -> Option<Color> {
        let digits = spelling.strip_prefix('#')?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let value = u32::from_str_radix(digits, 16).ok()?;
        match digits.len() {
            // In the short form each digit stands for itself twice: #f60 is #ff6600.
            3 => {
                let [_, _, high, low] = value.to_be_bytes();
                Some(Color::Hex(high * 17, (low >> 4) * 17, (low & 15) * 17))
            }
            6 => {
                let [_, red, green, blue] = value.to_be_bytes();
                Some(Color::Hex(red, green, blue))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Color {
    /// The spelling that is written to files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Color::Blue => "blue",
            Color::Green => "green",
            Color::Yellow => "yellow",
            Color::Magenta => "magenta",
            Color::Cyan => "cyan",
            Color::Red => "red",
            Color::Purple => "purple",
            Color::Orange => "orange",
            Color::Pink => "pink",
            Color::System => "system",
            Color::Hex(red, green, blue) => return write!(f, "#{red:02x}{green:02x}{blue:02x}"),
            Color::Other(spelling) => spelling,
        };
        f.pad(name)
    }
}

impl Serialize for Color {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Color {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|spelling| Color::parse(&spelling))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("blue", Color::Blue, "blue")]
    #[case("MAGENTA", Color::Magenta, "magenta")]
    #[case("System", Color::System, "system")]
    #[case("#FA8072", Color::Hex(0xfa, 0x80, 0x72), "#fa8072")]
    #[case("#f60", Color::Hex(0xff, 0x66, 0), "#ff6600")]
    #[case("#ff66", Color::Other("#ff66".into()), "#ff66")]
    #[case("#+12345", Color::Other("#+12345".into()), "#+12345")]
    #[case("Teal ", Color::Other("Teal ".into()), "Teal ")]
    #[case("", Color::Other(String::new()), "")]
    fn spellings(#[case] spelling: &str, #[case] color: Color, #[case] written: &str) {
        assert_eq!(Color::parse(spelling), color);
        assert_eq!(color.to_string(), written);
    }

    #[test]
    fn new_members_get_six_colours_and_start_again() {
        let seven: Vec<String> = (0..7).map(|index| Color::in_turn(index).to_string()).collect();
        assert_eq!(seven, ["blue", "green", "magenta", "cyan", "red", "yellow", "blue"]);
        assert_eq!(Color::in_turn(usize::MAX), Color::in_turn(usize::MAX % 6));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_the_same(spelling in "\\PC*|#[0-9a-fA-F]{0,8}") {
            let color = Color::parse(&spelling);
            prop_assert_eq!(Color::parse(&color.to_string()), color);
        }
    }
}
