//! What is known of a client, as data. The compiler sees to it that every client answers every question.

use crate::check::SelfCheck;
use crate::client::AgentClient;
use crate::conversations::Conversations;
use crate::folders::{Folders, Scope};
use crate::hook::HookFormat;
use crate::invocation::Invocation;
use crate::launch::Launch;
use crate::settings::{Identity, SettingsError, SettingsFile};
use crate::wake::WakeMethod;

/// Everything that the rest of the program knows of one client.
#[derive(Debug)]
pub struct Profile {
    /// Which one it is.
    pub client: AgentClient,
    /// Its name in commands, answers and files, which is also that of its program.
    pub name: &'static str,
    /// Its name as its makers write it.
    pub title: &'static str,
    /// Environment variables that say where its folders are.
    pub variables: &'static [&'static str],
    /// The variable in which its child processes find the conversation's id, if they do.
    pub session_variable: Option<&'static str>,
    /// Whether a process of it is a single run, which a program or a script started with a task of its own and which ends with
    /// its turn.
    pub is_single_run: fn(&Invocation) -> bool,
    /// Its settings files, and what of ours belongs into them.
    pub settings: fn(Scope, &Folders, &Identity) -> Vec<SettingsFile>,
    /// What the user has to do after the installation, which we never do for them: trust is theirs to give.
    pub left_to_do: fn(Scope) -> &'static [&'static str],
    /// How it is asked whether what we set up works.
    pub check: SelfCheck,
    /// How its hooks speak, or how a plugin of ours does that takes their place.
    pub hooks: Option<HookFormat>,
    /// Where its conversations are; nothing, where that is not known.
    pub conversations: Option<Conversations>,
    /// How it takes up new mail while it is idle; nothing, where only a line typed into its terminal does it.
    pub wake: Option<WakeMethod>,
    /// How it is started as a member; nothing, where it has no terminal to run in.
    pub launch: Option<Launch>,
    /// The plugin that can be made for it instead, if it has such.
    pub plugin: Option<Plugin>,
    /// Whether a hook of it, or a plugin of ours in its place, can start a turn when mail comes.
    pub has_rewake_hook: bool,
    /// Whether one process of it serves several folders, with a session in each. Otherwise a session that begins in the process of
    /// another takes its place, in whichever folder.
    pub serves_folders: bool,
}

/// A file of a plugin: its name and its text.
pub type PluginFile = (&'static str, String);

/// A plugin: a folder with everything of ours in it.
#[derive(Debug)]
pub struct Plugin {
    /// The file that says what the folder is.
    pub manifest: &'static str,
    /// Whether a manifest with this text is ours.
    pub is_ours: fn(&str) -> bool,
    /// Its files, by name and text, with this skill among them.
    pub files: fn(&str) -> Result<Vec<PluginFile>, SettingsError>,
    /// How its user checks and loads it, a line each; the folder, quoted for a shell, is given.
    pub usage: fn(&str) -> String,
}
