//! From statements to instructions: names become slots, labels become places, variables become addresses.

use std::collections::HashMap;

use super::code::{Entry, Hinted, Inst, Module, NONE, Op, Space, Type};
use super::opcode::{self, Decoded, Form};
use super::parse::{EntryText, Instruction, Operand, Text, Variable};
use super::{Fault, uniform, walk};

/// Most slots of an entry: registers and constants together.
const MOST_SLOTS: usize = 60_000;

/// Makes a module of a text.
///
/// # Errors
///
/// The first name, opcode or operand that is not known, with its line.
pub(super) fn lower(text: &Text) -> Result<Module, Fault> {
    let mut entries = HashMap::new();
    for entry in &text.entries {
        let lowered = Lowering::new(text, entry)?.entry(entry)?;
        entries.insert(lowered.name.clone(), lowered);
    }
    let in_memory = |v: &&Variable| v.space == "const" || v.space == "global";
    let variables = text.variables.iter().filter(in_memory).map(|v| (v.name.clone(), v.bytes)).collect();
    Ok(Module { target: text.target.clone(), entries, variables })
}

enum Symbol {
    /// An address that is known now.
    Fixed(u64),
    /// The address of a module variable, known once the module is loaded.
    Loaded,
}

struct Lowering {
    registers: HashMap<String, u16>,
    constants: HashMap<u64, u16>,
    symbols: HashMap<String, Symbol>,
    symbol_slots: HashMap<String, u16>,
    labels: HashMap<String, u32>,
    slots: usize,
    shared: u64,
    local: u64,
    parameters: Vec<u64>,
}

impl Lowering {
    fn new(text: &Text, entry: &EntryText) -> Result<Self, Fault> {
        let mut lowering = Lowering {
            registers: HashMap::new(),
            constants: HashMap::new(),
            symbols: HashMap::new(),
            symbol_slots: HashMap::new(),
            labels: HashMap::new(),
            slots: 1,
            shared: 0,
            local: 0,
            parameters: Vec::new(),
        };
        for (name, _) in &entry.registers {
            let slot = lowering.slot(0)?;
            lowering.registers.insert(name.clone(), slot);
        }
        let mut offset: u64 = 0;
        for (name, bytes) in &entry.parameters {
            offset = offset.next_multiple_of((*bytes).max(1));
            lowering.symbols.insert(name.clone(), Symbol::Fixed(offset));
            lowering.parameters.push(*bytes);
            offset += bytes;
        }
        // What the launch sizes comes after what the text sizes.
        let all = || text.variables.iter().chain(&entry.variables);
        for variable in all().filter(|v| v.bytes > 0).chain(all().filter(|v| v.bytes == 0)) {
            let symbol = match variable.space.as_str() {
                "shared" => Symbol::Fixed(place(&mut lowering.shared, variable)),
                "local" => Symbol::Fixed(place(&mut lowering.local, variable)),
                _ => Symbol::Loaded,
            };
            if lowering.symbols.insert(variable.name.clone(), symbol).is_some() {
                return Err(Fault::at(variable.line, format!("`{}` is declared twice", variable.name)));
            }
        }
        for (name, at) in &entry.labels {
            lowering.labels.insert(name.clone(), *at as u32);
        }
        Ok(lowering)
    }

    fn slot(&mut self, line: u32) -> Result<u16, Fault> {
        if self.slots >= MOST_SLOTS {
            return Err(Fault::at(line, format!("more than {MOST_SLOTS} registers and constants")));
        }
        self.slots += 1;
        Ok((self.slots - 1) as u16)
    }

    fn constant(&mut self, value: u64, line: u32) -> Result<u16, Fault> {
        if let Some(&slot) = self.constants.get(&value) {
            return Ok(slot);
        }
        let slot = self.slot(line)?;
        self.constants.insert(value, slot);
        Ok(slot)
    }

    fn register(&self, operand: &Operand, line: u32) -> Result<u16, Fault> {
        match operand {
            Operand::Name(name) if name == "_" => Ok(NONE),
            Operand::Name(name) => {
                self.registers.get(name).copied().ok_or_else(|| Fault::at(line, format!("no register `{name}`")))
            }
            other => Err(Fault::at(line, format!("a register is expected, not {other:?}"))),
        }
    }

    fn symbol(&mut self, name: &str, line: u32) -> Result<u16, Fault> {
        match self.symbols.get(name) {
            Some(&Symbol::Fixed(address)) => self.constant(address, line),
            Some(Symbol::Loaded) => {
                if let Some(&slot) = self.symbol_slots.get(name) {
                    return Ok(slot);
                }
                let slot = self.slot(line)?;
                self.symbol_slots.insert(name.to_owned(), slot);
                Ok(slot)
            }
            None => Err(Fault::at(line, format!("no register, variable or special register `{name}`"))),
        }
    }

    fn source(&mut self, operand: &Operand, kind: Type, line: u32) -> Result<u16, Fault> {
        match operand {
            Operand::Number(value) => self.constant(kind.wrap(*value), line),
            Operand::Name(name) => match self.registers.get(name) {
                Some(&slot) => Ok(slot),
                None => self.symbol(name, line),
            },
            other => Err(Fault::at(line, format!("a register or number is expected, not {other:?}"))),
        }
    }

    /// Slot of the base and the offset of an address.
    fn address(&mut self, operand: &Operand, line: u32) -> Result<(u16, i64), Fault> {
        let Operand::At { base, offset, coordinates } = operand else {
            return Err(Fault::at(line, format!("an address in brackets is expected, not {operand:?}")));
        };
        if !coordinates.is_empty() {
            return Err(Fault::at(line, "coordinates without a texture instruction"));
        }
        let slot = match base {
            Some(name) => self.source(&Operand::Name(name.clone()), Type { bytes: 8, signed: false }, line)?,
            None => self.constant(0, line)?,
        };
        Ok((slot, *offset))
    }

    fn entry(mut self, text: &EntryText) -> Result<Entry, Fault> {
        let mut code = Vec::with_capacity(text.instructions.len() + 1);
        for instruction in &text.instructions {
            let inst = self.instruction(instruction)?;
            code.push(inst);
        }
        let line = text.instructions.last().map_or(0, |i| i.line);
        let kind = Type { bytes: 4, signed: false };
        code.push(Inst {
            op: Op::Return,
            kind,
            guard: NONE,
            negated: false,
            to: NONE,
            more: [NONE; 3],
            further: 0,
            from: [NONE; 4],
            hinted: Hinted::No,
            offset: 0,
            line,
        });
        leave_unread_out(&mut code, self.slots);
        uniform::mark(&mut code, self.slots);
        let mut entry = Entry {
            name: text.name.clone(),
            code,
            walks: Vec::new(),
            slots: self.slots,
            constants: self.constants.into_iter().map(|(value, slot)| (slot, value)).collect(),
            symbols: self.symbol_slots.into_iter().map(|(name, slot)| (slot, name)).collect(),
            parameters: self.parameters,
            shared: self.shared,
            local: self.local,
        };
        entry.walks = walk::find(&entry);
        Ok(entry)
    }

    fn instruction(&mut self, text: &Instruction) -> Result<Inst, Fault> {
        let line = text.line;
        let Some(Decoded { op, kind, form }) = opcode::decode(&text.opcode) else {
            return Err(Fault::at(line, format!("instruction `{}` is not known to the simulator", text.opcode)));
        };
        let (guard, negated) = match &text.guard {
            Some((name, negated)) => (self.register(&Operand::Name(name.clone()), line)?, *negated),
            None => (NONE, false),
        };
        let hinted = opcode::hints(&text.opcode);
        let mut inst = Inst {
            op,
            kind,
            guard,
            negated,
            to: NONE,
            more: [NONE; 3],
            further: 0,
            from: [NONE; 4],
            hinted,
            offset: 0,
            line,
        };
        let mut operands = &text.operands[..];
        // The policy comes last.
        if hinted == Hinted::Policy
            && let Some((policy, others)) = operands.split_last()
        {
            operands = others;
            inst.from[3] = self.source(policy, Type { bytes: 8, signed: false }, line)?;
        }
        let count = |wanted: usize| {
            if operands.len() == wanted {
                Ok(())
            } else {
                Err(Fault::at(line, format!("`{}` takes {wanted} operands, not {}", text.opcode, operands.len())))
            }
        };
        match form {
            Form::Plain(sources) => {
                count(sources + 1)?;
                inst.to = self.register(&operands[0], line)?;
                if let (Op::Mov, Some(Operand::Name(name))) = (op, operands.get(1))
                    && let Some(special) = opcode::special(name)
                {
                    inst.op = Op::Special(special);
                    return Ok(inst);
                }
                for (place, operand) in inst.from.iter_mut().zip(&operands[1..]) {
                    *place = self.source(operand, kind, line)?;
                }
                // `not.pred` is an exclusive or with 1.
                if op == Op::Xor && sources == 1 {
                    inst.from[1] = self.constant(1, line)?;
                }
            }
            Form::Load => {
                count(2)?;
                inst.to = self.register(&operands[0], line)?;
                (inst.from[0], inst.offset) = self.address(&operands[1], line)?;
            }
            Form::VectorLoad(elements) => {
                count(2)?;
                let Operand::List(results) = &operands[0] else {
                    return Err(Fault::at(line, "a vector load takes a list of results"));
                };
                if results.len() != elements {
                    let what = format!("`{}` has {elements} results, not {}", text.opcode, results.len());
                    return Err(Fault::at(line, what));
                }
                inst.to = self.register(&results[0], line)?;
                for (slot, result) in inst.more.iter_mut().zip(&results[1..]) {
                    *slot = self.register(result, line)?;
                    inst.further += 1;
                }
                (inst.from[0], inst.offset) = self.address(&operands[1], line)?;
            }
            Form::Store | Form::VectorStore(_) => {
                count(2)?;
                (inst.from[0], inst.offset) = self.address(&operands[0], line)?;
                match (form, &operands[1]) {
                    (Form::VectorStore(elements), Operand::List(values)) if values.len() == elements => {
                        inst.from[1] = self.source(&values[0], kind, line)?;
                        for (slot, value) in inst.more.iter_mut().zip(&values[1..]) {
                            *slot = self.source(value, kind, line)?;
                            inst.further += 1;
                        }
                    }
                    (Form::VectorStore(elements), _) => {
                        return Err(Fault::at(line, format!("`{}` takes a list of {elements} values", text.opcode)));
                    }
                    (_, value) => inst.from[1] = self.source(value, kind, line)?,
                }
                let is_stored = op == Op::MbarrierInit;
                if !is_stored
                    && !matches!(
                        op,
                        Op::Store(
                            Space::GlobalCa
                                | Space::GlobalCg
                                | Space::Volatile
                                | Space::Discarded
                                | Space::Shared
                                | Space::Local
                                | Space::Generic
                                | Space::Cluster
                        )
                    )
                {
                    return Err(Fault::at(line, format!("`{}` cannot be stored to", text.opcode)));
                }
            }
            Form::Atomic(result, sources) => {
                count(sources + 1 + usize::from(result))?;
                let mut rest = operands.iter();
                if result {
                    inst.to = self.register(rest.next().expect("counted"), line)?;
                }
                (inst.from[0], inst.offset) = self.address(rest.next().expect("counted"), line)?;
                for (place, operand) in inst.from[1..].iter_mut().zip(rest) {
                    *place = self.source(operand, kind, line)?;
                }
            }
            Form::Texture(dimensions) => {
                count(2)?;
                let (Operand::List(results), Operand::At { base: Some(texture), coordinates, .. }) =
                    (&operands[0], &operands[1])
                else {
                    return Err(Fault::at(
                        line,
                        "a texture load takes a list of results and a texture with a coordinate",
                    ));
                };
                // Of three dimensions there are four coordinates, the last of which is not used (PTX ISA, tex).
                if coordinates.len() != if dimensions == 3 { 4 } else { dimensions } {
                    let what = format!("`{}` takes {dimensions} coordinates, not {}", text.opcode, coordinates.len());
                    return Err(Fault::at(line, what));
                }
                let [first, others @ ..] = results.as_slice() else {
                    return Err(Fault::at(line, "a texture load has four results"));
                };
                for (slot, other) in inst.more.iter_mut().zip(others) {
                    *slot = self.register(other, line)?;
                    inst.further += 1;
                }
                inst.to = self.register(first, line)?;
                inst.from[0] = self.register(&Operand::Name(texture.clone()), line)?;
                for (place, coordinate) in inst.from[1..].iter_mut().zip(&coordinates[..dimensions]) {
                    *place = self.source(coordinate, kind, line)?;
                }
            }
            Form::Copy(wanted) => {
                count(wanted)?;
                inst.further = wanted.saturating_sub(inst.from.len()) as u8;
                for (place, operand) in inst.from.iter_mut().chain(&mut inst.more).zip(operands) {
                    *place = match operand {
                        Operand::At { .. } => match self.address(operand, line)? {
                            (slot, 0) => slot,
                            _ => return Err(Fault::at(line, "an address of a copy has no offset here")),
                        },
                        value => self.source(value, kind, line)?,
                    };
                }
            }
            Form::Branch => {
                count(1)?;
                let Operand::Name(label) = &operands[0] else {
                    return Err(Fault::at(line, "a branch takes a label"));
                };
                let to = self.labels.get(label).ok_or_else(|| Fault::at(line, format!("no label `{label}`")))?;
                inst.op = Op::Branch(*to);
            }
            Form::Bare => {}
        }
        Ok(inst)
    }
}

/// A texture load must name four results, whatever its texels have: the last of them that nothing reads are left out.
fn leave_unread_out(code: &mut [Inst], slots: usize) {
    let mut read = vec![false; slots];
    for inst in code.iter() {
        inst.from.into_iter().chain(inst.stored()).chain([inst.guard]).for_each(|slot| read[usize::from(slot)] = true);
    }
    read[usize::from(NONE)] = false;
    for inst in code.iter_mut().filter(|inst| matches!(inst.op, Op::Texture(_) | Op::Sample)) {
        let last = inst.more.iter().rposition(|slot| read[usize::from(*slot)]);
        inst.further = last.map_or(0, |last| last as u8 + 1);
    }
}

/// Gives a variable its place; the address.
fn place(end: &mut u64, variable: &Variable) -> u64 {
    let address = end.next_multiple_of(variable.align.max(1));
    *end = address + variable.bytes;
    address
}
