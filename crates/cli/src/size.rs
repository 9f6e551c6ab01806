//! Sizes of files, as people write them.

const UNITS: [(&str, u32); 4] = [("B", 0), ("KB", 10), ("MB", 20), ("GB", 30)];

/// `10MB`, `512k`, `1GiB`; a number alone is bytes. A kilobyte is 1024 bytes, as `du -h` has it.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is not a size; write it like 10MB or 512KB");
    let trimmed = text.trim();
    let (number, unit) =
        trimmed.split_at(trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len()));
    let number: u64 = number.parse().map_err(|_| bad())?;
    let unit = unit.trim().to_ascii_uppercase().replace("IB", "B");
    let is_it = |name: &str| unit == name || (!unit.is_empty() && unit == name.trim_end_matches('B'));
    let found = UNITS.iter().find(|(name, _)| is_it(name));
    let power = if unit.is_empty() { 0 } else { found.ok_or_else(bad)?.1 };
    number.checked_mul(1 << power).ok_or_else(bad)
}

/// A size for people.
pub(crate) fn show(bytes: u64) -> String {
    let unit = UNITS.iter().rev().find(|(_, power)| bytes >= 1 << power && bytes.is_multiple_of(1 << power));
    unit.map_or_else(|| format!("{bytes} B"), |(name, power)| format!("{} {name}", bytes >> power))
}

/// About how large that is, for people.
pub(crate) fn about(bytes: u64) -> String {
    let unit = UNITS.iter().rev().find(|(_, power)| *power > 0 && bytes >= 1 << power);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(name, power)| {
            let tenths = (u128::from(bytes) * 10) >> power;
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_the_spellings_of_people() {
        for (text, bytes) in [
            ("10MB", 10 << 20),
            ("10 mb", 10 << 20),
            ("10M", 10 << 20),
            ("1GiB", 1 << 30),
            ("7", 7),
            ("0B", 0),
            ("2k", 2048),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for bad in ["", "MB", "-1", "1.5MB", "10 bananas", "99999999999GB", "1MBB"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert_eq!([about(1023), about(1536), about(10 << 30)], ["1023 B", "1.5 KB", "10.0 GB"]);
        assert_eq!([show(10 << 20), show(1025), show(0)], ["10 MB", "1025 B", "0 B"]);
    }
}
