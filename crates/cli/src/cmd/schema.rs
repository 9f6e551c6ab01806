//! `atm schema`

use atm_office::people::nearest::nearest;
use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::help;
use crate::output::table::{cut, whole};
use crate::schemas::Schemas;

#[derive(Debug, Args)]
#[command(after_help = "\
Without a name: the list. With a command: the schema of its answer. The schemas are JSON Schema, draft 2020-12. They describe the files in every dialect that
clients write, and every answer with --json. New keys may be added to both: take no offence at a key that you do not
know.")]
pub(crate) struct Schema {
    /// A command, like `send` or `task create`, or the name of a schema
    #[arg(value_name = "COMMAND|NAME")]
    words: Vec<String>,
}

impl Schema {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let schemas = Schemas::load().map_err(|error| {
            Failure::new(ExitCode::BadData, "bad_data", format!("the schemas cannot be read: {error}"))
        })?;
        let out = &mut context.out;
        if self.words.is_empty() {
            if out.json {
                let list =
                    schemas.list().map(|(name, kind, of)| json!({ "name": name, "kind": kind, "of": of }));
                out.document(&list.collect::<Vec<_>>())?;
            } else {
                out.page();
                let rows = schemas.list().map(|(name, kind, of)| vec![name.into(), kind.into(), of.into()]);
                out.table(&[whole("NAME"), whole("KIND"), cut("OF", 20)], rows)?;
            }
            return Ok(0);
        }
        let asked = self.words.join(" ");
        let answers = schemas.of_command(&asked);
        let name = answers.first().map_or(asked.as_str(), |(name, _)| name);
        for (other, of) in answers.iter().skip(1) {
            out.hint(&format!("of `{of}`: atm schema {other}"))?;
        }
        let Some(schema) = schemas.get(name) else {
            let below = schemas.below(&asked);
            if !below.is_empty() {
                let message = format!("each command of `atm {asked}` has an answer of its own");
                let list: Vec<String> = below.iter().map(|command| format!("atm schema {command}")).collect();
                return Err(Failure::new(ExitCode::NotFound, "no_schema", message).hint(list.join(", ")));
            }
            if help::has_command(&asked) {
                let message = format!("`atm {asked}` has no answer in JSON");
                return Err(
                    Failure::new(ExitCode::NotFound, "no_schema", message).hint("`atm schema` shows all")
                );
            }
            let nearest = nearest(name, schemas.list().map(|(name, ..)| name));
            let hint = match nearest.as_slice() {
                [] => "`atm schema` shows the names".to_owned(),
                names => format!("did you mean {}?", names.join(", ")),
            };
            let message = format!("there is no schema {name:?}");
            return Err(Failure::new(ExitCode::NotFound, "no_schema", message).hint(hint));
        };
        out.document(&schema)?;
        Ok(0)
    }
}
