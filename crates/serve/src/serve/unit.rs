//! Unit files that start `kb serve` with the system.

/// The service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitKind {
    /// A systemd user unit.
    Systemd,
    /// A launchd property list.
    Launchd,
}

/// The unit file that starts a program with these arguments of `kb serve` and these variables. Runs continue when
/// the unit stops.
///
/// # Errors
///
/// A text has a control character, such as a line break, which would begin another line of the unit: the text.
pub fn unit(
    kind: UnitKind,
    program: &str,
    arguments: &[String],
    variables: &[(&str, String)],
) -> Result<String, String> {
    let texts = std::iter::once(program).chain(arguments.iter().map(String::as_str));
    let mut texts = texts.chain(variables.iter().map(|(_, value)| value.as_str()));
    if let Some(text) = texts.find(|text| text.chars().any(char::is_control)) {
        return Err(text.to_owned());
    }
    Ok(match kind {
        UnitKind::Systemd => {
            let quoted = |text: &str| {
                let text = text.replace('\\', "\\\\").replace('"', "\\\"");
                format!("\"{}\"", text.replace('%', "%%").replace('$', "$$"))
            };
            let options: String =
                arguments.iter().map(|argument| format!(" {}", quoted(argument))).collect();
            let environment: String = variables
                .iter()
                .map(|(name, value)| {
                    format!("Environment={}\n", quoted(&format!("{name}={value}")))
                })
                .collect();
            format!(
                "# ~/.config/systemd/user/kb.service\n\
                 # systemctl --user daemon-reload && systemctl --user enable --now kb\n\
                 # loginctl enable-linger   (to run without a login)\n\
                 [Unit]\n\
                 Description=kb: schedules and triggers of playbooks\n\
                 \n\
                 [Service]\n\
                 ExecStart={} serve{options}\n\
                 {environment}\
                 Restart=on-failure\n\
                 RestartSec=5\n\
                 # Runs are processes of their own and continue when the daemon stops.\n\
                 KillMode=process\n\
                 TimeoutStopSec=5\n\
                 \n\
                 [Install]\n\
                 WantedBy=default.target\n",
                quoted(program)
            )
        }
        UnitKind::Launchd => {
            let string = |text: &str| {
                let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                format!("    <string>{text}</string>\n")
            };
            let given: String = arguments.iter().map(|argument| string(argument)).collect();
            let arguments = string(program) + &string("serve") + &given;
            let key = |name: &str| string(name).replace("string>", "key>");
            let environment: String =
                variables.iter().map(|(name, value)| key(name) + &string(value)).collect();
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
                 <!-- ~/Library/LaunchAgents/kb.serve.plist: launchctl load -w FILE -->\n\
                 <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
                 \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
                 <plist version=\"1.0\">\n<dict>\n\
                 \x20 <key>Label</key>\n  <string>kb.serve</string>\n\
                 \x20 <key>ProgramArguments</key>\n  <array>\n{arguments}  </array>\n\
                 \x20 <key>EnvironmentVariables</key>\n  <dict>\n{environment}  </dict>\n\
                 \x20 <key>RunAtLoad</key>\n  <true/>\n\
                 \x20 <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
                 \x20 <key>AbandonProcessGroup</key>\n  <true/>\n\
                 </dict>\n</plist>\n"
            )
        }
    })
}
