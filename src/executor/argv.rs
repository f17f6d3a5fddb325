use crate::attempt::Argument;
use crate::definition::takes_code;
use crate::diagnostic::Code;
use crate::value::Failure;

/// Refuses a value as the code of an interpreter. Loading refuses it behind a literal `-c`; where
/// the option is a value itself, that can be seen only now.
pub(super) fn check(words: &[Argument]) -> Result<(), Box<Failure>> {
    let mut pairs = words.windows(2);
    let found =
        pairs.find(|pair| pair.iter().all(|word| word.computed) && takes_code(&pair[0].text));
    let Some([option, _]) = found else { return Ok(()) };
    let message = format!("a value cannot be the code that `{}` takes", option.text);
    let help = "write the option and the code literally and hand values over as later arguments or \
                as `env:`";
    Err(Box::new(Failure::new(Code::VALUE_AS_CODE.as_str(), message).help(help)))
}
