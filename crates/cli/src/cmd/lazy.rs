//! The list of commands as the parser needs it: every name, and the arguments of the one that is called.
//!
//! The derived list would describe all arguments of all commands, at every start. Even the names alone cost more than
//! the rest of a parse, since each of them gets the global options: so a single command can be had too.

/// Makes the enum `Command` of `/// About` and `Name(Type),` lines; `#[command(subcommand)]` marks those that have
/// commands of their own.
macro_rules! commands {
    ($(#[doc = $about:literal] $(#[command($group:ident)])? $name:ident($type:ty),)*) => {
        /// What `atm` can do.
        #[derive(Debug)]
        pub(crate) enum Command {
            $(#[doc = $about] $name($type),)*
        }

        impl Command {
            /// How the command of this name is called.
            pub(crate) fn describe(name: &str) -> Option<clap::Command> {
                $(if name == lazy::lower!($name) {
                    return Some(
                        clap::Command::new(lazy::lower!($name))
                            .about($about.trim())
                            .defer(|command| lazy::augment!(command, $type $(, $group)?).about($about.trim())),
                    );
                })*
                None
            }
        }

        impl clap::Subcommand for Command {
            fn augment_subcommands(atm: clap::Command) -> clap::Command {
                atm.subcommands([$(lazy::lower!($name)),*].into_iter().filter_map(Self::describe))
            }

            fn augment_subcommands_for_update(atm: clap::Command) -> clap::Command {
                Self::augment_subcommands(atm)
            }

            fn has_subcommand(name: &str) -> bool {
                [$(lazy::lower!($name)),*].contains(&name)
            }
        }

        impl clap::FromArgMatches for Command {
            fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
                Self::from_arg_matches_mut(&mut matches.clone())
            }

            fn from_arg_matches_mut(matches: &mut clap::ArgMatches) -> Result<Self, clap::Error> {
                let (name, mut arguments) =
                    matches.remove_subcommand().ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingSubcommand))?;
                $(if name == lazy::lower!($name) {
                    return <$type as clap::FromArgMatches>::from_arg_matches_mut(&mut arguments).map(Self::$name);
                })*
                Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand))
            }

            fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    };
}

/// How a command's arguments are described, once it is called.
macro_rules! augment {
    ($command:ident, $type:ty) => {
        <$type as clap::Args>::augment_args($command)
    };
    ($command:ident, $type:ty, subcommand) => {
        <$type as clap::Subcommand>::augment_subcommands($command)
            .subcommand_required(true)
            .arg_required_else_help(true)
    };
}

/// A command's name: its variant's, in small letters.
macro_rules! lower {
    ($name:ident) => {{
        const LOWER: [u8; stringify!($name).len()] = lazy::lowered(stringify!($name));
        const NAME: &str = match std::str::from_utf8(&LOWER) {
            Ok(name) => name,
            Err(_) => panic!("small letters are UTF-8"),
        };
        NAME
    }};
}

pub(super) const fn lowered<const LENGTH: usize>(name: &str) -> [u8; LENGTH] {
    let mut lower = [0; LENGTH];
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    lower
}

pub(super) use {augment, commands, lower};
