//! The syntax of expressions of GitHub Actions: text to tree.

/// Maximum number of parts of one expression.
const MAX_PARTS: usize = 300;

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    /// A number as written.
    Number(String),
    Text(String),
    /// The name of a context, such as `inputs`.
    Name(String),
    /// A key of a value: `.key`, `['key']`, `[expression]`.
    Key(Box<Node>, Box<Node>),
    /// A function, in lower case, with its arguments.
    Call(String, Vec<Node>),
    Not(Box<Node>),
    /// `==`, `!=`, `<`, `<=`, `>` or `>=`.
    Compare(&'static str, Box<Node>, Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
}

impl Node {
    /// The names of a path such as `steps.build.outputs.version`; `None` if it is no path of names.
    pub(super) fn path(&self) -> Option<Vec<&str>> {
        match self {
            Node::Name(name) => Some(vec![name]),
            Node::Key(base, key) => {
                let Node::Text(key) = &**key else { return None };
                let mut path = base.path()?;
                path.push(key);
                Some(path)
            }
            _ => None,
        }
    }
}

/// Reads an expression; the error is the part that cannot be read.
pub(super) fn parse(text: &str) -> Result<Node, String> {
    let mut parser = Parser { rest: text.trim(), parts: 0 };
    let node = parser.any_of()?;
    match parser.rest.trim_start() {
        "" => Ok(node),
        rest => Err(first(rest)),
    }
}

/// The first word or sign of a text, to name it in a message.
fn first(rest: &str) -> String {
    let word: String = rest.chars().take_while(|c| is_word(*c)).take(40).collect();
    if word.is_empty() { rest.chars().take(1).collect() } else { word }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

struct Parser<'a> {
    rest: &'a str,
    parts: usize,
}

type Parsed = Result<Node, String>;

impl Parser<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start();
        let Some(after) = rest.strip_prefix(sign) else { return false };
        self.rest = after;
        true
    }

    fn expects(&mut self, sign: &str) -> Result<(), String> {
        if self.takes(sign) { Ok(()) } else { Err(format!("a missing `{sign}`")) }
    }

    fn any_of(&mut self) -> Parsed {
        let mut all = vec![self.all_of()?];
        while self.takes("||") {
            all.push(self.all_of()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Node::Or(all) })
    }

    fn all_of(&mut self) -> Parsed {
        let mut all = vec![self.equality()?];
        while self.takes("&&") {
            all.push(self.equality()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Node::And(all) })
    }

    fn equality(&mut self) -> Parsed {
        let mut left = self.order()?;
        while let Some(sign) = ["==", "!="].into_iter().find(|sign| self.takes(sign)) {
            left = Node::Compare(sign, Box::new(left), Box::new(self.order()?));
        }
        Ok(left)
    }

    fn order(&mut self) -> Parsed {
        let mut left = self.unary()?;
        while let Some(sign) = ["<=", ">=", "<", ">"].into_iter().find(|sign| self.takes(sign)) {
            left = Node::Compare(sign, Box::new(left), Box::new(self.unary()?));
        }
        Ok(left)
    }

    /// Counts a part: a tree of many parts is deep.
    fn count(&mut self) -> Result<(), String> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            Err("an expression of more than 300 parts".to_owned())
        } else {
            Ok(())
        }
    }

    fn unary(&mut self) -> Parsed {
        self.count()?;
        if !self.rest.trim_start().starts_with("!=") && self.takes("!") {
            return Ok(Node::Not(Box::new(self.unary()?)));
        }
        let mut node = self.primary()?;
        loop {
            if self.takes("[") {
                let key = self.any_of()?;
                self.expects("]")?;
                node = Node::Key(Box::new(node), Box::new(key));
            } else if self.takes(".") {
                let name = self.word();
                if name.is_empty() {
                    return Err(".*".to_owned());
                }
                node = Node::Key(Box::new(node), Box::new(Node::Text(name)));
            } else {
                return Ok(node);
            }
            self.count()?;
        }
    }

    fn primary(&mut self) -> Parsed {
        if self.takes("(") {
            let inner = self.any_of()?;
            self.expects(")")?;
            return Ok(inner);
        }
        if self.takes("'") {
            return self.text();
        }
        let rest = self.rest.trim_start();
        let number = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
        let number = &rest[..number.unwrap_or(rest.len())];
        if number.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            && number.parse::<f64>().is_ok_and(f64::is_finite)
        {
            self.rest = &rest[number.len()..];
            return Ok(Node::Number(number.to_owned()));
        }
        let word = self.word();
        match word.as_str() {
            "" if rest.is_empty() => Err("the end".to_owned()),
            "" => Err(first(rest)),
            "true" | "false" => Ok(Node::Bool(word == "true")),
            "null" => Ok(Node::Null),
            _ if self.takes("(") => {
                let arguments = self.arguments()?;
                Ok(Node::Call(word.to_lowercase(), arguments))
            }
            _ => Ok(Node::Name(word)),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Node>, String> {
        let mut all = Vec::new();
        if self.takes(")") {
            return Ok(all);
        }
        loop {
            all.push(self.any_of()?);
            if self.takes(")") {
                return Ok(all);
            }
            self.expects(",")?;
        }
    }

    /// The rest of a text after its first quote; two quotes in it are one.
    fn text(&mut self) -> Parsed {
        let mut text = String::new();
        loop {
            let end = self.rest.find('\'').ok_or("a text without an end")?;
            text.push_str(&self.rest[..end]);
            self.rest = &self.rest[end + 1..];
            match self.rest.strip_prefix('\'') {
                Some(after) => {
                    text.push('\'');
                    self.rest = after;
                }
                None => return Ok(Node::Text(text)),
            }
        }
    }

    fn word(&mut self) -> String {
        let rest = self.rest.trim_start();
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        self.rest = &rest[end..];
        rest[..end].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Node, parse};

    #[test]
    fn operators_bind_as_on_github() {
        let name = |name: &str| Box::new(Node::Name(name.to_owned()));
        let not = Node::Compare("==", Box::new(Node::Not(name("a"))), name("b"));
        assert_eq!(parse("!a == b"), Ok(not.clone()));
        let order = Node::Compare("<", name("c"), name("d"));
        let both = Node::Compare("==", name("x"), Box::new(order));
        assert_eq!(parse("!a == b && x == c < d"), Ok(Node::And(vec![not, both])));
        assert_eq!(parse("'it''s'"), Ok(Node::Text("it's".into())));
        let path = parse("steps.my-step['outputs'].a").unwrap();
        assert_eq!(path.path().unwrap(), ["steps", "my-step", "outputs", "a"]);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        for (text, part) in [
            ("", "the end"),
            ("a.*", ".*"),
            ("(a", "a missing `)`"),
            ("'a", "a text without an end"),
            ("a b", "b"),
            ("a = b", "="),
            ("f(a", "a missing `,`"),
            ("ä", "ä"),
        ] {
            assert_eq!(parse(text), Err(part.to_owned()), "{text}");
        }
        for text in ["(", "!", "a[", "a.", ".a"].map(|part| format!("a{}", part.repeat(100_000))) {
            parse(&text).unwrap_err();
        }
        parse(&"!".repeat(100_000)).unwrap_err();
    }
}
