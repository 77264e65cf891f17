//! Words and punctuation of PTX text, each with its line.

use super::Fault;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A directive, an opcode with its modifiers, a name or a number, as it stands.
    Word(String),
    /// A quoted text, without its quotes.
    Quoted(String),
    /// Any other character.
    Mark(char),
}

/// Splits text into tokens with their lines, counted from 1. Comments are left out.
///
/// # Errors
///
/// A comment or a quoted text that does not end, a character that PTX has no use for.
pub fn lex(text: &str) -> Result<Vec<(Token, u32)>, Fault> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    let mut line = 1u32;
    while let Some(c) = chars.next() {
        match c {
            '\n' => line += 1,
            c if c.is_whitespace() => {}
            '/' if chars.peek() == Some(&'/') => {
                while chars.peek().is_some_and(|&c| c != '\n') {
                    chars.next();
                }
            }
            '/' if chars.peek() == Some(&'*') => {
                let began = line;
                let mut last = ' ';
                loop {
                    match chars.next() {
                        Some('/') if last == '*' => break,
                        Some(c) => {
                            line += u32::from(c == '\n');
                            last = c;
                        }
                        None => return Err(Fault::at(began, "a comment that does not end")),
                    }
                }
            }
            '"' => {
                let mut quoted = String::new();
                loop {
                    match chars.next() {
                        Some('"') => break,
                        Some(c) if c != '\n' => quoted.push(c),
                        _ => return Err(Fault::at(line, "a quoted text that does not end")),
                    }
                }
                tokens.push((Token::Quoted(quoted), line));
            }
            c if is_word(c) => {
                let mut word = String::from(c);
                while let Some(&c) = chars.peek().filter(|&&c| is_word(c)) {
                    word.push(c);
                    chars.next();
                }
                // What has a part: `shared::cluster`, `mbarrier::complete_tx::bytes`.
                loop {
                    let mut ahead = chars.clone();
                    if (ahead.next(), ahead.next()) != (Some(':'), Some(':')) {
                        break;
                    }
                    word.push_str("::");
                    chars = ahead;
                    while let Some(&c) = chars.peek().filter(|&&c| is_word(c)) {
                        word.push(c);
                        chars.next();
                    }
                }
                tokens.push((Token::Word(word), line));
            }
            ',' | ';' | ':' | '{' | '}' | '(' | ')' | '[' | ']' | '<' | '>' | '@' | '!' | '+' | '-' | '=' => {
                tokens.push((Token::Mark(c), line));
            }
            other => return Err(Fault::at(line, format!("unexpected character {other:?}"))),
        }
    }
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}
