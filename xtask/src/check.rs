//! The check: every kernel, every target, every assembler; and machine code that a driver's compiler made.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use strata_kernels::{Check, PTX, Program, Text, cubin};
use strata_recording::Recording;

use crate::assemble::capability;
use crate::disassemble::{self, Disassembler};
use crate::rules::{self, Violation};
use crate::sass::Function;
use crate::wheels::{self, Ptxas};

/// Threads that assemble: the runners of continuous integration have two cores.
const THREADS: usize = 2;

/// What was checked and what was found.
#[derive(Debug, Default)]
struct Tally {
    assembled: usize,
    checked: usize,
    /// Machine codes whose timed load is a function call there, so that the kernel is of no use for the target.
    emulated: usize,
    /// What failed, ready to print.
    failures: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.assembled += other.assembled;
        self.checked += other.checked;
        self.emulated += other.emulated;
        self.failures.extend(other.failures);
    }

    /// Prints failures; an error if there are any.
    fn verdict(&self) -> Result<()> {
        for failure in &self.failures {
            eprintln!("{failure}");
        }
        match self.failures.len() {
            0 => Ok(()),
            failures => bail!("{failures} of the machine codes above break a rule or could not be made"),
        }
    }
}

/// A piece of machine code to check: its kernel's name, its source in words, the code.
struct Piece<'a> {
    kernel: String,
    origin: String,
    code: &'a [u8],
    check: Check,
}

/// Assembles and checks all kernels, then the recordings of the repository.
pub fn everything(root: &Path) -> Result<()> {
    let start = Instant::now();
    let target_dir = root.join("target");
    let assemblers = wheels::assemblers(&target_dir)?;
    let disassembler = wheels::disassembler(&target_dir)?;
    let scratch = target_dir.join("check-kernels");

    let mut jobs = Vec::new();
    for ptxas in &assemblers {
        let targets = ptxas.targets()?;
        println!("ptxas {}: {}", ptxas.version, targets.iter().map(|t| format!("sm_{t} ")).collect::<String>().trim());
        jobs.extend(targets.into_iter().map(|target| (ptxas, target)));
    }
    let combinations = jobs.len();
    let jobs = Mutex::new(jobs);
    let total = Mutex::new(Tally::default());
    let work = || -> Result<()> {
        loop {
            let job = jobs.lock().expect("no thread panics while it holds this").pop();
            let Some((ptxas, target)) = job else { return Ok(()) };
            let texts = strata_kernels::all(PTX, capability(target));
            let folder = scratch.join(format!("ptxas-{}", ptxas.version)).join(format!("sm_{target}"));
            let disassembler = Disassembler { program: disassembler.clone(), scratch: folder.clone() };
            let tally = one_target(ptxas, target, &texts, &folder, &disassembler)?;
            total.lock().expect("no thread panics while it holds this").add(tally);
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a checking thread panicked"))
    })?;
    let mut total = total.into_inner().expect("no thread panicked");
    total.failures.sort_unstable();
    println!(
        "assembled {} machine codes of {} kernels ({combinations} pairs of release and target), checked {} from sm_{} up, \
         in {:.0} s",
        total.assembled,
        Program::all().len(),
        total.checked,
        disassemble::OLDEST,
        start.elapsed().as_secs_f64()
    );
    if total.emulated > 0 {
        println!("{} more time a load that their target has not, and were not checked", total.emulated);
    }
    let nothing = total.checked == 0 || total.assembled < combinations;
    let folder = root.join("recordings");
    let recordings = if folder.exists() { files(&folder, "strata")? } else { Vec::new() };
    println!("{} recordings in {}", recordings.len(), folder.display());
    let disassembler = Disassembler { program: disassembler, scratch: scratch.join("recordings") };
    for recording in &recordings {
        total.add(one_recording(&disassembler, recording)?);
    }
    total.verdict()?;
    ensure!(!nothing, "nothing was checked: the list of kernels or of targets is empty");
    Ok(())
}

/// Checks machine code in folders and recordings.
pub fn given(root: &Path, folders: &[PathBuf], recordings: &[PathBuf]) -> Result<()> {
    let target_dir = root.join("target");
    let program = wheels::disassembler(&target_dir)?;
    let disassembler = Disassembler { program, scratch: target_dir.join("check-kernels").join("given") };
    let mut total = Tally::default();
    for folder in folders {
        let mut codes = Vec::new();
        for file in files(folder, "cubin")? {
            let kernel = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            codes.push((kernel, fs::read(&file).with_context(|| format!("reading {}", file.display()))?));
        }
        total.add(foreign_code(&disassembler, &folder.display().to_string(), &codes)?);
    }
    for recording in recordings {
        total.add(one_recording(&disassembler, recording)?);
    }
    total.verdict()?;
    ensure!(total.checked > 0, "nothing was checked: no machine code of a kernel with clock reads was found");
    Ok(())
}

/// Files of a folder with an extension, by name. A missing folder is an error.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading folder {}", folder.display()))?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| path.extension().is_some_and(|own| own == extension));
    paths.sort_unstable();
    Ok(paths)
}

/// Assembles every kernel for a target with a release, and checks what came out if it can be disassembled.
fn one_target(ptxas: &Ptxas, target: u32, texts: &[Text], folder: &Path, disassembler: &Disassembler) -> Result<Tally> {
    fs::create_dir_all(folder)?;
    let origin = format!("sm_{target}, ptxas {}", ptxas.version);
    let mut tally = Tally::default();
    let mut made = Vec::new();
    for text in texts.iter().filter(|text| text.target <= capability(target)) {
        let (ptx, cubin) = (folder.join(format!("{}.ptx", text.entry)), folder.join(format!("{}.cubin", text.entry)));
        fs::write(&ptx, &text.code)?;
        match ptxas.assemble(target, text.optimised, &ptx, &cubin) {
            Ok(()) => {
                tally.assembled += 1;
                made.push((text, fs::read(&cubin)?));
            }
            Err(message) => tally.failures.push(format!("{} ({origin}) does not assemble:\n{message}", text.entry)),
        }
    }
    let mut pieces = Vec::new();
    for (text, bytes) in &made {
        let cubin = cubin::read(bytes).with_context(|| format!("{} ({origin})", text.entry))?;
        ensure!(cubin.target == target, "{} ({origin}) was made for sm_{}", text.entry, cubin.target);
        let function = cubin.functions.iter().find(|function| function.name == text.entry);
        let code = function.with_context(|| format!("{} ({origin}) has no such function", text.entry))?.code;
        pieces.push(Piece { kernel: text.entry.clone(), origin: origin.clone(), code, check: text.check });
    }
    if target >= disassemble::OLDEST {
        tally.add(pieces_of_target(disassembler, target, &pieces)?);
    }
    Ok(tally)
}

/// Checks the machine code kept in a recording.
fn one_recording(disassembler: &Disassembler, path: &Path) -> Result<Tally> {
    let recording = Recording::read(path).with_context(|| format!("reading {}", path.display()))?;
    let codes = recording.codes.into_iter().filter_map(|code| Some((code.kernel, code.machine_code?)));
    foreign_code(disassembler, &path.display().to_string(), &codes.collect::<Vec<_>>())
}

/// Checks cubins that were made elsewhere, by kernel name.
fn foreign_code(disassembler: &Disassembler, place: &str, codes: &[(String, Vec<u8>)]) -> Result<Tally> {
    let mut by_target: HashMap<u32, Vec<Piece<'_>>> = HashMap::new();
    let mut tally = Tally::default();
    for (kernel, bytes) in codes {
        let cubin = cubin::read(bytes).with_context(|| format!("{place}: {kernel}"))?;
        let check = Program::named(kernel).map(|program| PTX.check(program));
        let check = check.with_context(|| format!("{place}: there is no kernel `{kernel}`"))?;
        let function = cubin.functions.iter().find(|function| function.name == kernel);
        let code = function.with_context(|| format!("{place}: {kernel} has no function of that name"))?.code;
        if cubin.target < disassemble::OLDEST {
            println!("{place}: {kernel} is for sm_{}, which nvdisasm cannot read: not checked", cubin.target);
            continue;
        }
        let origin = format!("sm_{}, {place}", cubin.target);
        by_target.entry(cubin.target).or_default().push(Piece { kernel: kernel.clone(), origin, code, check });
    }
    for (target, pieces) in by_target {
        tally.add(pieces_of_target(disassembler, target, &pieces)?);
    }
    println!("{place}: checked {} machine codes", tally.checked);
    Ok(tally)
}

/// Disassembles and checks code of one target.
fn pieces_of_target(disassembler: &Disassembler, target: u32, pieces: &[Piece<'_>]) -> Result<Tally> {
    let timed: Vec<&Piece<'_>> = pieces.iter().filter(|piece| piece.check != Check::None).collect();
    let pieces: Vec<&Piece<'_>> = timed.iter().copied().filter(|piece| rules::apply(target, piece.check)).collect();
    let code: Vec<(String, &[u8])> = pieces.iter().map(|piece| (piece.kernel.clone(), piece.code)).collect();
    let functions = disassembler.disassemble(target, &code)?;
    let mut tally = Tally { emulated: timed.len() - pieces.len(), ..Tally::default() };
    for (piece, function) in pieces.iter().zip(&functions) {
        tally.checked += 1;
        let violations = rules::violations(function, target, piece.check);
        if !violations.is_empty() {
            tally.failures.push(failure(piece, function, &violations));
        }
    }
    Ok(tally)
}

fn failure(piece: &Piece<'_>, function: &Function, violations: &[Violation]) -> String {
    let mut text = format!("{} ({}) breaks a rule:\n", piece.kernel, piece.origin);
    for violation in violations {
        text += &format!("  - {violation}\n");
    }
    text + &rules::excerpt(function, violations)
}
