//! What somebody would try who wants out: paths, URLs and commands that are meant to do harm, each
//! with what must come of it. A table a subject; every row is an attempt.

mod clock;
mod escapes;
mod git_settings;
mod granted_paths;
mod ignore_rules;
mod killed_commands;
mod later_commands;
mod later_moment;
mod later_steps;
mod later_values;
mod missing_access;
mod obedient;
mod opened_paths;
mod ordinary_user;
mod outputs;
mod own_programs;
mod paths;
mod plugin_programs;
mod sandbox;
mod settings_commands;
mod shared_places;
mod state;
mod terminal;
mod unproven;
mod unshown_changes;
mod urls;
mod values;

pub(crate) use terminal::{EVIL, dangerous};
