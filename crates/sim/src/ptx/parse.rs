//! Statements of PTX text.

use super::Fault;
use super::lex::{Token, lex};

/// A module as it stands in the text.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The architecture that it names, such as `sm_50`.
    pub target: String,
    /// Variables outside of entries.
    pub variables: Vec<Variable>,
    /// Entries.
    pub entries: Vec<EntryText>,
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// State space without its dot, such as `shared`.
    pub space: String,
    /// Name.
    pub name: String,
    /// Size in bytes; 0 for one whose size the launch gives.
    pub bytes: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Where it is declared.
    pub line: u32,
}

/// An entry as it stands in the text.
#[derive(Clone, Debug)]
pub struct EntryText {
    /// Name.
    pub name: String,
    /// Parameters with their sizes in bytes.
    pub parameters: Vec<(String, u64)>,
    /// Registers with their types, such as `u32`.
    pub registers: Vec<(String, String)>,
    /// Variables of the entry.
    pub variables: Vec<Variable>,
    /// Labels and the instruction that each precedes.
    pub labels: Vec<(String, usize)>,
    /// Instructions.
    pub instructions: Vec<Instruction>,
}

/// An instruction as it stands in the text.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Predicate, and whether it is negated.
    pub guard: Option<(String, bool)>,
    /// Opcode with its modifiers.
    pub opcode: String,
    /// Operands.
    pub operands: Vec<Operand>,
    /// Line.
    pub line: u32,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register, a symbol or a label.
    Name(String),
    /// A number, as 64 bits.
    Number(u64),
    /// What lies at a name (or at 0) and an offset; texture operands have a second part.
    At {
        /// Register or symbol.
        base: Option<String>,
        /// Bytes.
        offset: i64,
        /// Coordinates of a texture.
        coordinates: Vec<Operand>,
    },
    /// Several registers.
    List(Vec<Operand>),
}

struct Reader {
    tokens: Vec<(Token, u32)>,
    at: usize,
}

/// Longest text that is read; the longest kernel of this program has a few thousand characters.
const LONGEST: usize = 16 << 20;
/// Most registers that one `.reg` may declare as a range.
const MOST_REGISTERS: u64 = 65_536;

/// Reads a module.
///
/// # Errors
///
/// The first thing that is not PTX, with its line.
pub fn parse(text: &str) -> Result<Text, Fault> {
    if text.len() > LONGEST {
        return Err(Fault::at(1, format!("{} bytes of text, at most {LONGEST} are read", text.len())));
    }
    let mut reader = Reader { tokens: lex(text)?, at: 0 };
    let mut module = Text::default();
    while let Some((token, line)) = reader.next() {
        let Token::Word(word) = token else {
            return Err(Fault::at(line, format!("unexpected {token:?} between entries")));
        };
        match word.as_str() {
            ".version" | ".address_size" => {
                reader.word()?;
            }
            ".target" => {
                module.target = reader.word()?;
                while reader.skip(',') {
                    reader.word()?;
                }
            }
            ".visible" | ".extern" | ".weak" => {}
            ".entry" => module.entries.push(reader.entry()?),
            ".shared" | ".const" | ".global" => module.variables.extend(reader.variables(&word[1..])?),
            other => return Err(Fault::at(line, format!("unknown directive `{other}`"))),
        }
    }
    Ok(module)
}

impl Reader {
    fn next(&mut self) -> Option<(Token, u32)> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.0)
    }

    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.1)
    }

    fn word(&mut self) -> Result<String, Fault> {
        let line = self.line();
        match self.next() {
            Some((Token::Word(word), _)) => Ok(word),
            Some((other, _)) => Err(Fault::at(line, format!("a word is expected, not {other:?}"))),
            None => Err(Fault::at(line, "the text ends where a word is expected")),
        }
    }

    fn skip(&mut self, mark: char) -> bool {
        let is = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, mark: char) -> Result<(), Fault> {
        if self.skip(mark) {
            Ok(())
        } else {
            Err(Fault::at(self.line(), format!("`{mark}` is expected, not {:?}", self.peek())))
        }
    }

    /// Directives before a name: alignment and element size.
    fn shape(&mut self) -> Result<(u64, u64), Fault> {
        let (mut align, mut size) = (1, 1);
        while let Some(Token::Word(word)) = self.peek().cloned() {
            let Some(directive) = word.strip_prefix('.') else { break };
            let line = self.line();
            self.at += 1;
            if directive == "align" {
                align = self.number()?;
                if !align.is_power_of_two() || align > 1 << 20 {
                    return Err(Fault::at(line, format!("alignment {align} is no power of two up to 2^20")));
                }
            } else {
                size = bytes_of(directive).ok_or_else(|| Fault::at(line, format!("unknown type `{word}`")))?;
            }
        }
        Ok((align.max(size), size))
    }

    fn number(&mut self) -> Result<u64, Fault> {
        let line = self.line();
        let negative = self.skip('-');
        let word = self.word()?;
        let value = number(&word).ok_or_else(|| Fault::at(line, format!("`{word}` is no number")))?;
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    fn variables(&mut self, space: &str) -> Result<Vec<Variable>, Fault> {
        let (align, size) = self.shape()?;
        let mut all = Vec::new();
        loop {
            let line = self.line();
            let name = self.word()?;
            let mut bytes = size;
            if self.skip('[') {
                let count = if self.peek() == Some(&Token::Mark(']')) { 0 } else { self.number()? };
                self.expect(']')?;
                bytes = size
                    .checked_mul(count)
                    .filter(|&b| b <= 1 << 32)
                    .ok_or_else(|| Fault::at(line, format!("`{name}` is larger than 4 GiB")))?;
            }
            all.push(Variable { space: space.to_owned(), name, bytes, align, line });
            if !self.skip(',') {
                self.expect(';')?;
                return Ok(all);
            }
        }
    }

    /// Directives between the parameters and the body, which bound what a compiler may use and change nothing here.
    fn tuning(&mut self) -> Result<(), Fault> {
        while !matches!(self.peek(), Some(Token::Mark('{')) | None) {
            let line = self.line();
            let directive = self.word()?;
            if directive == ".explicitcluster" {
                continue;
            }
            if ![".maxntid", ".minnctapersm", ".maxnreg"].contains(&directive.as_str()) {
                return Err(Fault::at(line, format!("`{{` is expected, not `{directive}`")));
            }
            self.number()?;
            while self.skip(',') {
                self.number()?;
            }
        }
        Ok(())
    }

    fn entry(&mut self) -> Result<EntryText, Fault> {
        let name = self.word()?;
        let mut entry = EntryText {
            name,
            parameters: Vec::new(),
            registers: Vec::new(),
            variables: Vec::new(),
            labels: Vec::new(),
            instructions: Vec::new(),
        };
        if self.skip('(') && !self.skip(')') {
            loop {
                let line = self.line();
                let directive = self.word()?;
                if directive != ".param" {
                    return Err(Fault::at(line, format!("`.param` is expected, not `{directive}`")));
                }
                let (_, bytes) = self.shape()?;
                entry.parameters.push((self.word()?, bytes));
                if !self.skip(',') {
                    self.expect(')')?;
                    break;
                }
            }
        }
        self.tuning()?;
        self.expect('{')?;
        while !self.skip('}') {
            self.statement(&mut entry)?;
        }
        Ok(entry)
    }

    fn statement(&mut self, entry: &mut EntryText) -> Result<(), Fault> {
        let line = self.line();
        let mut guard = None;
        if self.skip('@') {
            let negated = self.skip('!');
            guard = Some((self.word()?, negated));
        }
        let word = self.word()?;
        if guard.is_none() && self.skip(':') {
            entry.labels.push((word, entry.instructions.len()));
            return Ok(());
        }
        match word.as_str() {
            ".reg" => self.registers(entry),
            ".shared" | ".local" => {
                entry.variables.extend(self.variables(&word[1..])?);
                Ok(())
            }
            ".pragma" => {
                self.next();
                self.expect(';')
            }
            directive if directive.starts_with('.') => Err(Fault::at(line, format!("unknown directive `{directive}`"))),
            _ => {
                let mut operands = Vec::new();
                if self.peek() != Some(&Token::Mark(';')) {
                    operands.push(self.operand()?);
                    while self.skip(',') {
                        operands.push(self.operand()?);
                    }
                }
                self.expect(';')?;
                entry.instructions.push(Instruction { guard, opcode: word, operands, line });
                Ok(())
            }
        }
    }

    fn registers(&mut self, entry: &mut EntryText) -> Result<(), Fault> {
        let line = self.line();
        let directive = self.word()?;
        let kind = directive.trim_start_matches('.').to_owned();
        if bytes_of(&kind).is_none() && !["pred", "f32"].contains(&kind.as_str()) {
            return Err(Fault::at(line, format!("registers of type `{directive}` are not known")));
        }
        loop {
            let name = self.word()?;
            if self.skip('<') {
                let count = self.number()?;
                self.expect('>')?;
                if count > MOST_REGISTERS {
                    return Err(Fault::at(line, format!("{count} registers, at most {MOST_REGISTERS} are allowed")));
                }
                entry.registers.extend((0..count).map(|i| (format!("{name}{i}"), kind.clone())));
            } else {
                entry.registers.push((name, kind.clone()));
            }
            if !self.skip(',') {
                return self.expect(';');
            }
        }
    }

    fn operand(&mut self) -> Result<Operand, Fault> {
        if self.skip('{') {
            let mut list = vec![self.scalar()?];
            while self.skip(',') {
                list.push(self.scalar()?);
            }
            self.expect('}')?;
            return Ok(Operand::List(list));
        }
        if self.skip('[') {
            let (mut base, mut offset) = (None, 0i64);
            let mut coordinates = Vec::new();
            match self.peek() {
                Some(Token::Word(word)) if number(word).is_none() => base = Some(self.word()?),
                _ => offset = self.number()? as i64,
            }
            if self.skip('+') {
                offset = self.number()? as i64;
            } else if self.skip(',') {
                self.expect('{')?;
                coordinates.push(self.scalar()?);
                while self.skip(',') {
                    coordinates.push(self.scalar()?);
                }
                self.expect('}')?;
            }
            self.expect(']')?;
            return Ok(Operand::At { base, offset, coordinates });
        }
        self.scalar()
    }

    fn scalar(&mut self) -> Result<Operand, Fault> {
        match self.peek() {
            Some(Token::Word(word)) if number(word).is_none() => Ok(Operand::Name(self.word()?)),
            _ => Ok(Operand::Number(self.number()?)),
        }
    }
}

/// Bytes of a type.
pub(super) fn bytes_of(kind: &str) -> Option<u64> {
    Some(match kind {
        "u8" | "s8" | "b8" => 1,
        "u16" | "s16" | "b16" => 2,
        "u32" | "s32" | "b32" => 4,
        "u64" | "s64" | "b64" => 8,
        _ => return None,
    })
}

fn number(word: &str) -> Option<u64> {
    // The bits of a number of floating point.
    if let Some(bits) = word.strip_prefix("0f").or_else(|| word.strip_prefix("0F")) {
        return u32::from_str_radix(bits, 16).ok().filter(|_| bits.len() == 8).map(u64::from);
    }
    let word = word.strip_suffix('U').unwrap_or(word);
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok(),
        None => word.parse().ok(),
    }
}
