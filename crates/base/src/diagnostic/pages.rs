//! The table of codes and the pages that `kb explain CODE` shows.
//!
//! The page of a code is the Markdown file `pages/CODE.md`. Its heading is the title; its text states the problem and
//! its cause, shows a wrong and a fixed example where there is one, and ends with the fix. `docs/diagnostics.md` is
//! generated from these files.

use super::code::Code;

/// A code and its file.
struct Page {
    code: Code,
    markdown: &'static str,
}

/// Declares the constants of [`Code`] and includes their pages.
macro_rules! codes {
    ($($name:ident = $code:literal;)*) => {
        impl Code {
            $(
                #[doc = concat!("`", $code, "`: see `pages/", $code, ".md`.")]
                pub const $name: Code = Code($code);
            )*
        }

        static PAGES: &[Page] = &[
            $(Page { code: Code($code), markdown: include_str!(concat!("pages/", $code, ".md")) },)*
        ];
    };
}

codes! {
    // `KB01xx`: reading files, YAML syntax, keys and types.
    INVALID_YAML = "KB0101";
    NOT_UTF8 = "KB0102";
    TOO_LARGE = "KB0103";
    EMPTY_FILE = "KB0104";
    WRONG_TYPE = "KB0105";
    UNKNOWN_KEY = "KB0106";
    DUPLICATE_KEY = "KB0107";
    MISSING_KEY = "KB0108";
    UNQUOTED_PLACEHOLDER = "KB0109";
    FRONT_MATTER = "KB0110";
    UNSUPPORTED_YAML = "KB0111";
    BAD_VALUE = "KB0112";
    SCHEMA_VERSION = "KB0113";
    FILE_NOT_READ = "KB0114";
    // `KB02xx`: playbooks, steps, specialists, settings and scripts.
    BAD_DEFINITION = "KB0201";
    BAD_ID = "KB0202";
    DUPLICATE_ID = "KB0203";
    DUPLICATE_DEFINITION = "KB0204";
    STEP_KIND = "KB0205";
    UNKNOWN_STEP = "KB0206";
    RESERVED_NAME = "KB0207";
    NAME_CLASH = "KB0208";
    NO_STEPS = "KB0209";
    SELF_DEPENDENCY = "KB0210";
    MISPLACED_KEY = "KB0211";
    TASK_TEXT = "KB0212";
    BAD_PARAM = "KB0213";
    INVALID_PATTERN = "KB0214";
    BAD_SCHEMA = "KB0215";
    VALUE_AS_CODE = "KB0216";
    NO_SUCH_TOOL = "KB0217";
    INFERRED_PARAM = "KB0218";
    NO_EFFECT = "KB0219";
    SECRET_MISPLACED = "KB0220";
    BAD_SETTING = "KB0221";
    BAD_TURN = "KB0222";
    // `KB03xx`: expressions, templates and references.
    BAD_EXPRESSION = "KB0301";
    UNKNOWN_NAME = "KB0302";
    UNKNOWN_FIELD = "KB0303";
    UNKNOWN_FILTER = "KB0304";
    BAD_PLACEHOLDER = "KB0305";
    MISSPELLED_PLACEHOLDER = "KB0306";
    DASHED_NAME = "KB0307";
    DYNAMIC_NAME = "KB0308";
    NAME_OUT_OF_SCOPE = "KB0309";
    EXPRESSION_TOO_LONG = "KB0311";
    FOREIGN_PLACEHOLDER = "KB0312";
    UNDEFINED_VALUE = "KB0320";
    TYPE_MISMATCH = "KB0321";
    EVALUATION_FAILED = "KB0322";
    EXPRESSION_TOO_LARGE = "KB0323";
    // `KB04xx`: problems that only the whole plan shows.
    CIRCULAR_DEPENDENCY = "KB0401";
    NO_SUCH_SPECIALIST = "KB0402";
    NO_SUCH_CAPABILITY = "KB0417";
    DEPENDS_ON_FINALLY = "KB0403";
    GATE_READ_UNORDERED = "KB0404";
    UNGUARDED_READ = "KB0405";
    UNKNOWN_OUTPUT_KEY = "KB0406";
    OUTPUT_UNDESCRIBED = "KB0407";
    UNORDERED_WRITERS = "KB0408";
    FILE_UNORDERED = "KB0419";
    NO_SUCH_PLAYBOOK = "KB0411";
    CHILD_PARAMETER = "KB0412";
    CHILD_VERSION = "KB0420";
    SANDBOX_NEED = "KB0421";
    UNREAD_CLAIM = "KB0422";
    PLAYBOOK_CYCLE = "KB0413";
    CHILD_DEPTH = "KB0414";
    REQUIREMENT_MISSING = "KB0415";
    SEND_BACK = "KB0418";
    LOCK_OF_PARENT = "KB0416";
    // `KB0501` to `KB0510`: how attempts of specialists end.
    ATTEMPT_FAILED = "KB0501";
    SUBMITTED_OUTPUT_INVALID = "KB0502";
    OUTPUT_MISSING = "KB0503";
    SPECIALIST_LOOP = "KB0504";
    SPECIALIST_STEP_LIMIT = "KB0505";
    SPECIALIST_TOOL_CALL_LIMIT = "KB0506";
    SPECIALIST_TIMEOUT = "KB0507";
    SPECIALIST_DENIED = "KB0508";
    CALL_OUTCOME_UNKNOWN = "KB0509";
    SPECIALIST_CANCELLED = "KB0510";
    // the other `KB05xx`: how steps and runs end.
    ITEMS_FAILED = "KB0551";
    GATE_FAILED = "KB0552";
    GATE_INCONCLUSIVE = "KB0553";
    GATE_UNCHECKED = "KB0577";
    NOT_A_LIST = "KB0555";
    TIMED_OUT = "KB0556";
    INTERNAL_ERROR = "KB0557";
    NON_ZERO_EXIT = "KB0558";
    NOT_STARTED = "KB0559";
    BAD_OUTPUT = "KB0560";
    UNEXPECTED_STATUS = "KB0561";
    NOT_RESUMABLE = "KB0562";
    SANDBOX_UNAVAILABLE = "KB0563";
    BAD_INPUT = "KB0564";
    OUTPUT_INVALID = "KB0565";
    RUN_TIMED_OUT = "KB0566";
    MASKED_ARGUMENT = "KB0567";
    SECRET_COMMAND_FAILED = "KB0568";
    SECRET_TOO_SHORT = "KB0569";
    WORKER_KILLED = "KB0570";
    SECRET_LITERAL = "KB0571";
    APPROVAL_REJECTED = "KB0554";
    NOT_A_TIME = "KB0572";
    NOT_WAITING = "KB0573";
    BAD_ANSWER = "KB0574";
    SECRET_UNSET = "KB0576";
    LOOP_EXHAUSTED = "KB0575";
    NOT_ALL_RAN = "KB0579";
    CHILD_RUN_FAILED = "KB0580";
    BUDGET_EXHAUSTED = "KB0585";
    MODEL_WITHOUT_PRICE = "KB0586";
    NO_SUCH_ARTIFACT = "KB0595";
    GROUP_BUSY = "KB0587";
    LOCK_CYCLE = "KB0591";
    TREE_UNAVAILABLE = "KB0588";
    MERGE_CONFLICT = "KB0589";
    MERGE_FAILED = "KB0590";
    // `KB06xx`: tools, policies and processes.
    POLICY_DENIED = "KB0601";
    UNKNOWN_TOOL = "KB0602";
    BAD_ARGUMENTS = "KB0603";
    NEEDS_APPROVAL = "KB0604";
    PATH_OUTSIDE = "KB0605";
    PATH_PROTECTED = "KB0606";
    BAD_PATH = "KB0607";
    PATH_MISSING = "KB0608";
    PATH_WRONG_KIND = "KB0609";
    NOT_TEXT = "KB0610";
    EDIT_MISMATCH = "KB0611";
    FILE_FAILED = "KB0612";
    BAD_PATTERN = "KB0613";
    COMMAND_FAILED = "KB0614";
    COMMAND_TIMED_OUT = "KB0615";
    COMMAND_NOT_STARTED = "KB0616";
    ADDRESS_REFUSED = "KB0617";
    HTTP_FAILED = "KB0618";
    UNKNOWN_REFERENCE = "KB0619";
    BAD_ENVIRONMENT = "KB0620";
    TOOL_STOPPED = "KB0621";
    PLUGIN_FAILED = "KB0623";
    PLUGIN_OUTPUT = "KB0624";
    PROBE_FAILED = "KB0625";
    BUS_REFUSED = "KB0626";
    DELEGATION_REFUSED = "KB0627";
    RESPONSE_UNUSABLE = "KB0622";
    // `KB07xx`: models and providers.
    NO_MODEL = "KB0701";
    MODEL_BUSY = "KB0702";
    MODEL_TIMEOUT = "KB0703";
    MODEL_REFUSED = "KB0704";
    SCRIPT_ENDED = "KB0705";
    MODEL_TRUNCATED = "KB0706";
    // `KB080x` and `KB081x`: the journal, leases, and files of the project.
    JOURNAL_UNUSABLE = "KB0801";
    JOURNAL_FULL = "KB0802";
    JOURNAL_NEWER = "KB0803";
    RUN_LEASED = "KB0804";
    LEASE_LOST = "KB0805";
    NO_SUCH_RUN = "KB0806";
    JOURNAL_LOCKED = "KB0807";
    STATE_UNSTORED = "KB0808";
    FILE_UNREADABLE = "KB0810";
    LINK_OUT_OF_PROJECT = "KB0811";
    FILE_EXISTS = "KB0812";
    PROJECT_OF_OTHERS = "KB0813";
    // `KB086x`: what `kb run verify` finds in the record of a run.
    CHAIN_BROKEN = "KB0861";
    BLOB_DAMAGED = "KB0862";
    VERDICT_DIFFERS = "KB0863";
    NO_CHAIN = "KB0864";
    RECORD_INCONSISTENT = "KB0865";
    // `KB085x`: arguments and parameters of a command.
    BAD_ARGUMENT = "KB0850";
    PATH_UNUSABLE = "KB0851";
    PARAMETER_FILE = "KB0852";
    PARAMETER_UNKNOWN = "KB0853";
    PARAMETER_MISSING = "KB0854";
    PARAMETER_INVALID = "KB0855";
    NOT_ADOPTABLE = "KB0856";
    TEST_FAILED = "KB0870";
    TEST_PLAYBOOK = "KB0871";
    // `KB09xx`: parts of the language that this version does not support.
    NOT_IMPLEMENTED = "KB0901";
    PLANNED = "KB0902";
    UNUSED = "KB0903";
    // `KB10xx`: triggers and `kb serve`.
    BAD_TRIGGER = "KB1001";
    BAD_CRON = "KB1002";
    BAD_ZONE = "KB1003";
    TRIGGER_PARAM = "KB1004";
    TRIGGER_CYCLE = "KB1005";
    TRIGGER_REFUSED = "KB1011";
    PAYLOAD = "KB1012";
    DAEMON_RUNNING = "KB1013";
    RUN_OF_FIRE = "KB1014";
    NOTIFY_FAILED = "KB1016";
    // `KB11xx`: requests to the HTTP server.
    REQUEST_REFUSED = "KB1101";
    UNAUTHENTICATED = "KB1102";
    FORBIDDEN = "KB1103";
    BAD_REQUEST = "KB1104";
    TOO_MANY_REQUESTS = "KB1105";
    ADDRESS_UNUSABLE = "KB1106";
    CHANGED_MEANWHILE = "KB1107";
    // `KB12xx`: the language server.
    EDITOR_MESSAGE = "KB1201";
    // `KB13xx`: the MCP server.
    MCP_MESSAGE = "KB1301";
    MCP_SERVERS_DIFFER = "KB1302";
    NO_MCP_SERVER = "KB1303";
    MCP_NOT_PINNED = "KB1304";
    MCP_LOCK = "KB1305";
    MCP_NOT_STARTED = "KB1306";
    MCP_ANSWER = "KB1307";
    MCP_DRIFT = "KB1308";
    MCP_CALL_FAILED = "KB1309";
    // `KB14xx`: coding agents.
    NO_AGENT = "KB1401";
    AGENT_NOT_STARTED = "KB1402";
    AGENT_ENDED = "KB1403";
    AGENT_ANSWER = "KB1404";
    AGENT_REFUSED = "KB1405";
    // `KB15xx`: planning.
    PLAN_UNUSABLE = "KB1501";
    NO_PLANNING_RUN = "KB1502";
    // `KB16xx`: memory.
    MEMORY_REFUSED = "KB1601";
    MEMORY_UNUSABLE = "KB1602";
    MEMORY_FILE = "KB1603";
    MEMORY_OFF = "KB1604";
}

impl Page {
    /// The heading and the text below it.
    fn parts(&self) -> (&'static str, &'static str) {
        let (heading, text) = self.markdown.split_once('\n').unwrap_or((self.markdown, ""));
        (heading.trim_start_matches("# "), text.trim_matches('\n'))
    }
}

impl Code {
    /// Finds a code by its text; case is ignored.
    pub fn find(text: &str) -> Option<Code> {
        Code::all().find(|code| code.0.eq_ignore_ascii_case(text))
    }

    /// A short title, a lower-case fragment.
    pub fn title(self) -> &'static str {
        self.parts().0
    }

    /// The page that `kb explain` shows: the cause, an example and the fix.
    pub fn page(self) -> &'static str {
        self.parts().1
    }

    /// All codes, grouped by subject.
    pub fn all() -> impl Iterator<Item = Code> {
        PAGES.iter().map(|page| page.code)
    }

    fn parts(self) -> (&'static str, &'static str) {
        let page = PAGES.iter().find(|page| page.code == self);
        page.map_or(("unknown code", ""), Page::parts)
    }
}
