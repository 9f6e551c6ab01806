//! A settings file with one key changed; comments, order and all else stay.

use toml_edit::{Array, DocumentMut, Item, TableLike, Value};

use super::keys::Shape;
use super::trouble_in;

/// What a change comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edited {
    /// The whole file.
    pub(crate) text: String,
    /// What the key was.
    pub(crate) before: Option<String>,
    /// What it is now.
    pub(crate) after: Option<String>,
}

/// Sets a key, or takes it out where there is no value; says what is wrong with that.
pub(crate) fn edit(text: &str, key: &str, shape: Shape, value: Option<&str>) -> Result<Edited, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let value = value.map(|value| parse(shape, value)).transpose()?;
    let after = value.as_ref().map(shown);
    let (tables, last) = key.rsplit_once('.').map_or((None, key), |(tables, last)| (Some(tables), last));
    let tables: Vec<&str> = tables.map(|tables| tables.split('.').collect()).unwrap_or_default();
    let before = match value {
        Some(value) => put(document.as_table_mut(), &tables, last, value)?,
        None => take(document.as_table_mut(), &tables, last),
    };
    let text = document.to_string();
    match trouble_in(&text) {
        Some(trouble) => Err(trouble.short),
        None => Ok(Edited { text, before, after }),
    }
}

fn parse(shape: Shape, value: &str) -> Result<Value, String> {
    Ok(match shape {
        Shape::Text => value.into(),
        Shape::Number => value.parse::<i64>().map_err(|_| format!("{value:?} is no number"))?.into(),
        Shape::Flag => {
            value.parse::<bool>().map_err(|_| format!("{value:?} is neither true nor false"))?.into()
        }
        Shape::List => {
            let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
            parts.collect::<Array>().into()
        }
    })
}

/// A value without the blanks and comments around it.
fn shown(value: &Value) -> String {
    let mut value = value.clone();
    value.decor_mut().clear();
    value.to_string()
}

fn put(
    table: &mut dyn TableLike,
    tables: &[&str],
    last: &str,
    mut value: Value,
) -> Result<Option<String>, String> {
    if let [first, rest @ ..] = tables {
        let below = table.entry(first).or_insert_with(toml_edit::table);
        let below = below.as_table_like_mut().ok_or_else(|| format!("{first} is no table there"))?;
        return put(below, rest, last, value);
    }
    if let Some(item) = table.get_mut(last) {
        let before = item.as_value().map(shown);
        if let Some(old) = item.as_value() {
            *value.decor_mut() = old.decor().clone();
        }
        *item = Item::Value(value);
        return Ok(before);
    }
    table.insert(last, Item::Value(value));
    Ok(None)
}

fn take(table: &mut dyn TableLike, tables: &[&str], last: &str) -> Option<String> {
    match tables {
        [first, rest @ ..] => take(table.get_mut(first)?.as_table_like_mut()?, rest, last),
        [] => table.remove(last).and_then(|item| item.as_value().map(shown)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::{KEYS, shape_of};
    use super::*;

    #[test]
    fn every_key_can_be_set_and_taken_out() {
        for (key, shape, value) in KEYS {
            let set = edit("# mine\n", key, *shape, Some(value)).unwrap_or_else(|why| panic!("{key}: {why}"));
            assert!(set.text.starts_with("# mine\n") || set.text.contains("# mine\n"), "{}", set.text);
            assert_eq!(set.before, None);
            let taken = edit(&set.text, key, *shape, None).unwrap();
            assert_eq!(taken.before, set.after, "{key}");
        }
    }

    #[test]
    fn comments_and_order_stay() {
        let old = "# who I am\nas = \"bob\"  # for now\n\n[delivery]\n# not too often\nretry_after = [\"5m\"] # minutes\nexpire_after = \"7d\"\n";
        let set = edit(old, "delivery.retry_after", Shape::List, Some("10m, 1h")).unwrap();
        assert_eq!(set.text, old.replace("[\"5m\"]", "[\"10m\", \"1h\"]"));
        assert_eq!(
            (set.before.as_deref(), set.after.as_deref()),
            (Some("[\"5m\"]"), Some("[\"10m\", \"1h\"]"))
        );
        let set = edit(old, "as", Shape::Text, Some("eve")).unwrap();
        assert_eq!(set.text, old.replace("\"bob\"", "\"eve\""));
        let set = edit(old, "wake.after", Shape::List, Some("0s,2m")).unwrap();
        assert!(
            set.text.starts_with(old) && set.text.ends_with("[wake]\nafter = [\"0s\", \"2m\"]\n"),
            "{}",
            set.text
        );
    }

    #[test]
    fn what_the_settings_would_refuse_is_refused() {
        for (key, value) in
            [("color", "pink"), ("team", "a/b"), ("wake.after", "soon"), ("archive.keep", "many")]
        {
            assert!(edit("", key, shape_of(key).unwrap(), Some(value)).is_err(), "{key}");
        }
        assert!(edit("delivery = 1\n", "delivery.high.expire_after", Shape::Text, Some("1d")).is_err());
        assert_eq!(shape_of("colour"), None);
    }
}
