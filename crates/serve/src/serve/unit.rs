//! Unit files that start `kb serve` with the system.

use std::path::PathBuf;

/// The service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitKind {
    /// A systemd user unit.
    Systemd,
    /// A launchd property list.
    Launchd,
}

/// The unit file for a program and its projects. Runs continue when the unit stops.
pub fn unit(kind: UnitKind, program: &str, projects: &[PathBuf], path: &str) -> String {
    let folders: Vec<String> = projects.iter().map(|path| path.display().to_string()).collect();
    match kind {
        UnitKind::Systemd => {
            let quoted = |text: &str| {
                let text = text.replace('\\', "\\\\").replace('"', "\\\"");
                format!("\"{}\"", text.replace('%', "%%").replace('$', "$$"))
            };
            let options: String =
                folders.iter().map(|folder| format!(" --project {}", quoted(folder))).collect();
            format!(
                "# ~/.config/systemd/user/kb.service\n\
                 # systemctl --user daemon-reload && systemctl --user enable --now kb\n\
                 # loginctl enable-linger   (to run without a login)\n\
                 [Unit]\n\
                 Description=kb: schedules and triggers of playbooks\n\
                 \n\
                 [Service]\n\
                 ExecStart={} serve{options}\n\
                 Environment={}\n\
                 Restart=on-failure\n\
                 RestartSec=5\n\
                 # Runs are processes of their own and continue when the daemon stops.\n\
                 KillMode=process\n\
                 TimeoutStopSec=5\n\
                 \n\
                 [Install]\n\
                 WantedBy=default.target\n",
                quoted(program),
                quoted(&format!("PATH={path}"))
            )
        }
        UnitKind::Launchd => {
            let string = |text: &str| {
                let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                format!("    <string>{text}</string>\n")
            };
            let mut arguments = string(program) + &string("serve");
            for folder in &folders {
                arguments += &(string("--project") + &string(folder));
            }
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
                 <!-- ~/Library/LaunchAgents/kb.serve.plist: launchctl load -w FILE -->\n\
                 <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
                 \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
                 <plist version=\"1.0\">\n<dict>\n\
                 \x20 <key>Label</key>\n  <string>kb.serve</string>\n\
                 \x20 <key>ProgramArguments</key>\n  <array>\n{arguments}  </array>\n\
                 \x20 <key>RunAtLoad</key>\n  <true/>\n\
                 \x20 <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
                 \x20 <key>AbandonProcessGroup</key>\n  <true/>\n\
                 </dict>\n</plist>\n"
            )
        }
    }
}
