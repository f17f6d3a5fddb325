//! A person before a plan of `kb do`, on a pseudo-terminal.

use super::pty::Pty;
use crate::goal::{GOAL, project, work};

/// The first edit names a specialist that does not exist; the second one corrects it and changes the task.
const EDITOR: &str = "\
if grep -q 'specialist: implementer' \"$1\"; then
  sed 's/specialist: implementer/specialist: implementr/' \"$1\" > new
else
  sed 's/specialist: implementr/specialist: implementer/; s/Write its tests/Write the tests of the person/' \"$1\" > new
fi
cp new \"$1\"; rm new
";

#[test]
fn a_plan_that_a_person_edits_is_checked_again_before_it_runs() {
    let scratch = project(&work());
    scratch.write("edit.sh", EDITOR);
    let args = ["do", GOAL, "--script", "script.json"];
    let environment = [("EDITOR", "sh edit.sh")];
    let mut terminal = Pty::start_with(&scratch, 50, 200, &environment, &args);
    let mut answer = |shown: &str, typed: &str| {
        terminal.until(shown, |s| s.trim_end().ends_with(shown));
        terminal.key(format!("{typed}\n").as_bytes());
    };
    answer("Run it? [yes, edit, save, no]", "edit");
    answer("Edit it again? [yes, no]", "yes");
    answer("Run it? [yes, edit, save, no]", "yes");
    let (code, printed) = terminal.end();
    assert_eq!(code, 0, "{printed}");
    for text in ["KB0402", "did you mean `implementer`?", "goal complete"] {
        assert!(printed.contains(text), "`{text}` is missing in:\n{printed}");
    }
    let prompt = scratch.kb(&["run", "logs", "@last", "write", "--prompts"]).code(0);
    prompt.says(&["Write the tests of the person"]);
}
