//! From PTX text to a module, by the driver's own compiler. Linking keeps the machine code, which loading discards.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use super::calls::{Calls, Context, LinkState, ModuleHandle};
use super::error;
use strata_gpu::{Code, Error, Result};

/// `CU_JIT_INPUT_PTX`.
const INPUT_PTX: u32 = 1;
/// `CU_JIT_INFO_LOG_BUFFER`, its `_SIZE_BYTES`, `CU_JIT_ERROR_LOG_BUFFER`, its `_SIZE_BYTES`.
const OPTIONS: [u32; 4] = [3, 4, 5, 6];
/// `CU_JIT_OPTIMIZATION_LEVEL`, and the level with no optimisation. The highest one is the driver's own choice.
const NOT_OPTIMISED: (u32, usize) = (7, 0);
/// Room for each of the compiler's two logs.
const LOG_BYTES: usize = 16 << 10;

/// A module on the device.
pub(super) struct Loaded {
    pub module: ModuleHandle,
    /// The machine code that was loaded, where the driver gave it.
    pub machine_code: Option<Rc<[u8]>>,
    /// How many parameters each entry point has, of those whose parameters are all of 64 bits.
    pub parameters: Rc<BTreeMap<String, usize>>,
    /// How long it took to compile and load.
    pub took: Duration,
}

/// Threads that compile at the same time: with eight of them an H200's driver takes a fifth of the time, and more gain little.
const MOST_THREADS: usize = 8;

/// Machine code, or `None` where this driver does not link.
type Linked = Result<Option<Vec<u8>>>;
/// The same, with the time that it took.
type Timed = (Linked, Duration);

/// What is compiled for.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub context: Context,
    pub capability: (u32, u32),
}

// SAFETY: the driver's calls may come from several threads at once, and a context may be current in all of them.
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

impl Target {
    /// Makes the context current in this thread.
    fn make_current(self, calls: &Calls) -> Result<()> {
        // SAFETY: the context lives as long as the threads that compile for it.
        unsafe { calls.ctx_set_current(self.context) }
    }

    /// Refuses a text for a later device.
    fn check(self, ptx: &str) -> Result<()> {
        let own = self.capability;
        match named(ptx).filter(|&named| own < named) {
            None => Ok(()),
            Some(later) => Err(Error::Unsupported {
                reason: format!(
                    "the kernel's text is for compute capability {}.{} or later, and this device has {}.{}",
                    later.0, later.1, own.0, own.1
                ),
            }),
        }
    }
}

/// Compiles and loads each of these texts. The context must be current, and stay until this returns.
pub(super) fn load_all(calls: &Calls, target: Target, codes: &[Code<'_>]) -> Vec<Result<Loaded>> {
    let linked = link_all(calls, target, codes);
    codes.iter().zip(linked).map(|(&code, linked)| load(calls, code, linked)).collect()
}

/// The machine code of each of these texts, compiled by this thread and others. The context must be current.
fn link_all(calls: &Calls, target: Target, codes: &[Code<'_>]) -> Vec<Timed> {
    let results: Vec<Mutex<Option<Timed>>> = codes.iter().map(|_| Mutex::default()).collect();
    let mut queue: Vec<(&Code<'_>, &Mutex<Option<Timed>>)> = codes.iter().zip(&results).collect();
    // The longest text takes longest, and no thread should begin with it when the others have ended.
    queue.sort_by_key(|(code, _)| Reverse(code.text.len()));
    let waiting = Mutex::new(queue.into_iter());
    let next = || waiting.lock().ok()?.next();
    let work = || {
        while let Some((&code, result)) = next() {
            let started = Instant::now();
            let linked = target.check(code.text).and_then(|()| link(calls, code));
            if let Ok(mut result) = result.lock() {
                *result = Some((linked, started.elapsed()));
            }
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(codes.len());
        for _ in 1..threads {
            let worker = move || target.make_current(calls).map(|()| work());
            // A thread less: this one does what is left.
            drop(thread::Builder::new().name("compiler".into()).spawn_scoped(scope, worker));
        }
        work();
    });
    let lacking = || {
        let reason = "a thread that compiled a kernel did not end".into();
        (Err(Error::Unsupported { reason }), Duration::ZERO)
    };
    results.into_iter().map(|result| result.into_inner().ok().flatten().unwrap_or_else(lacking)).collect()
}

/// Loads a text's machine code, or the text where there is none. A context must be current.
fn load(calls: &Calls, code: Code<'_>, (linked, took): Timed) -> Result<Loaded> {
    let started = Instant::now();
    let machine_code = linked?.map(Rc::from);
    let module = match &machine_code {
        Some(made) => image(calls, made)?,
        None => compile(calls, code)?,
    };
    Ok(Loaded { module, machine_code, parameters: Rc::new(parameters(code.text)), took: took + started.elapsed() })
}

/// Has the driver compile and load a text at once, which keeps the machine code to itself.
fn compile(calls: &Calls, code: Code<'_>) -> Result<ModuleHandle> {
    let text = terminated(code.text)?;
    let mut module = ptr::null_mut();
    let mut logs = Logs::of(code);
    let (count, options, values) = logs.options();
    // SAFETY: `text` is NUL-terminated; options, values and the logs that they point to live through the call.
    let loaded = unsafe { calls.module_load_data_ex(&mut module, text.as_ptr().cast(), count, options, values) };
    loaded.map_err(|failed| logs.rejected(failed))?;
    Ok(module)
}

fn terminated(ptx: &str) -> Result<CString> {
    CString::new(ptx)
        .map_err(|_| Error::Unsupported { reason: "kernel text with a NUL character in it cannot be compiled".into() })
}

/// Loads the machine code of a module once more, with variables of its own. A context must be current.
pub(super) fn load_again(calls: &Calls, loaded: &Loaded) -> Result<Loaded> {
    let Some(code) = &loaded.machine_code else {
        let reason = "this driver keeps the machine code of a module to itself, so it cannot be loaded again".into();
        return Err(Error::Unsupported { reason });
    };
    let started = Instant::now();
    let module = image(calls, code)?;
    let (code, parameters) = (Rc::clone(code), Rc::clone(&loaded.parameters));
    Ok(Loaded { module, machine_code: Some(code), parameters, took: started.elapsed() })
}

/// Loads machine code that the linker made.
fn image(calls: &Calls, code: &[u8]) -> Result<ModuleHandle> {
    let mut module = ptr::null_mut();
    // SAFETY: `code` is a whole image, as the linker made it, here or for an earlier load; `module` is valid for the write.
    unsafe { calls.module_load_data(&mut module, code.as_ptr().cast()) }?;
    Ok(module)
}

/// The compute capability that a text names as its target, if it names one: `.target sm_90` is 9.0.
fn named(ptx: &str) -> Option<(u32, u32)> {
    let name = ptx.lines().find_map(|line| line.trim().strip_prefix(".target"))?.trim_start().strip_prefix("sm_")?;
    let digits = name.split(|c: char| !c.is_ascii_digit()).next()?;
    let number: u32 = digits.parse().ok()?;
    Some((number / 10, number % 10))
}

/// How many parameters the entry points of a text have, of those whose parameters are all declared with a type of 64 bits. An
/// entry point that is declared in any other way is left out.
fn parameters(ptx: &str) -> BTreeMap<String, usize> {
    let text = without_comments(ptx);
    let mut known = BTreeMap::new();
    for entry in text.split(".entry").skip(1) {
        let Some((head, _)) = entry.split_once('{') else { continue };
        let (name, list) = head.split_once('(').unwrap_or((head, ")"));
        // What follows the list are directives such as `.maxntid`.
        let Some((list, _)) = list.split_once(')') else { continue };
        let each: Vec<&str> = list.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
        let is_word = |one: &&str| {
            let words: Vec<&str> = one.split_whitespace().collect();
            matches!(words[..], [".param", ".u64" | ".s64" | ".b64", name] if !name.contains('['))
        };
        if each.iter().all(is_word) {
            known.insert(name.trim().to_owned(), each.len());
        }
    }
    known
}

/// The text with blanks for its comments.
fn without_comments(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut rest = ptx;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        text.push_str(&rest[..at]);
        text.push(' ');
        let line = rest[at..].starts_with("//");
        let (mark, after) = if line { ("\n", 0) } else { ("*/", 2) };
        rest = rest[at + 2..].find(mark).map_or("", |end| &rest[at + 2 + end + after..]);
    }
    text + rest
}

/// The machine code of a text. A context must be current.
fn link(calls: &Calls, code: Code<'_>) -> Linked {
    let text = terminated(code.text)?;
    let mut link = match Link::create(calls, code) {
        Ok(link) => link,
        Err(Error::Unsupported { .. }) => return Ok(None),
        Err(failed) if error::code(&failed) == Some(error::NOT_SUPPORTED) => return Ok(None),
        Err(failed) => return Err(failed),
    };
    match link.add(&text).and_then(|()| link.complete()) {
        Ok(code) => Ok(Some(code)),
        Err(Error::Unsupported { .. }) => Ok(None),
        Err(failed) if error::code(&failed) == Some(error::NOT_SUPPORTED) => Ok(None),
        Err(failed) => Err(link.logs.rejected(failed)),
    }
}

/// A link under way. The driver keeps pointers to the logs, options and values until it is destroyed.
struct Link<'c> {
    calls: &'c Calls,
    state: LinkState,
    logs: Logs,
}

impl<'c> Link<'c> {
    fn create(calls: &'c Calls, code: Code<'_>) -> Result<Self> {
        let mut logs = Logs::of(code);
        let (count, options, values) = logs.options();
        let mut state = ptr::null_mut();
        // SAFETY: options, values and logs are on the heap and live until the state is destroyed, in `drop`.
        unsafe { calls.link_create(count, options, values, &mut state) }?;
        Ok(Link { calls, state, logs })
    }

    fn add(&mut self, text: &CString) -> Result<()> {
        let bytes = text.as_bytes_with_nul();
        // SAFETY: the state is live; the driver reads `bytes` only, the closing NUL included. No options, and a name.
        unsafe {
            self.calls.link_add_data(
                self.state,
                INPUT_PTX,
                bytes.as_ptr().cast_mut().cast(),
                bytes.len(),
                c"strata.ptx".as_ptr(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        }
    }

    fn complete(&mut self) -> Result<Vec<u8>> {
        let mut image: *mut c_void = ptr::null_mut();
        let mut bytes = 0;
        // SAFETY: the state is live; `image` and `bytes` are valid for the writes.
        unsafe { self.calls.link_complete(self.state, &mut image, &mut bytes) }?;
        if image.is_null() {
            return Err(Error::Unsupported { reason: "the driver's linker gave no machine code".into() });
        }
        // SAFETY: the driver owns `bytes` bytes at `image` until the state is destroyed, which is after this copy.
        Ok(unsafe { std::slice::from_raw_parts(image.cast::<u8>(), bytes) }.to_vec())
    }
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        // SAFETY: the state is live and not used again. A failure leaves nothing to be done.
        let _ = unsafe { self.calls.link_destroy(self.state) };
    }
}

/// The compiler's logs, and the options that tell it where they are. All of it on the heap, so that moving this moves no
/// byte that the driver points to.
struct Logs {
    info: Vec<u8>,
    error: Vec<u8>,
    options: Vec<u32>,
    values: Vec<*mut c_void>,
}

impl Logs {
    fn of(code: Code<'_>) -> Self {
        let (mut info, mut error) = (vec![0; LOG_BYTES], vec![0; LOG_BYTES]);
        // A size is passed in the pointer's place, and comes back there.
        let size = ptr::without_provenance_mut(LOG_BYTES);
        let values = vec![info.as_mut_ptr().cast(), size, error.as_mut_ptr().cast(), size];
        let mut logs = Logs { info, error, options: OPTIONS.to_vec(), values };
        if !code.optimised {
            let (option, level) = NOT_OPTIMISED;
            logs.options.push(option);
            logs.values.push(ptr::without_provenance_mut(level));
        }
        logs
    }

    fn options(&mut self) -> (u32, *mut u32, *mut *mut c_void) {
        (self.options.len() as u32, self.options.as_mut_ptr(), self.values.as_mut_ptr())
    }

    /// The error of a failed compilation, with what the compiler said. A lost context and a lack of memory stay what they are.
    fn rejected(&self, failed: Error) -> Error {
        let Error::Call { call, code, name, meaning, lost } = failed else { return failed };
        if lost || code == error::OUT_OF_MEMORY {
            return Error::Call { call, code, name, meaning, lost };
        }
        if code == error::JIT_COMPILER_NOT_FOUND {
            return Error::Driver(format!(
                "the driver's PTX compiler (libnvidia-ptxjitcompiler.so.1) is not found, so no kernel can be made: it is part \
                 of the NVIDIA driver's compute libraries; install them, or let the container have them \
                 (NVIDIA_DRIVER_CAPABILITIES=compute,utility). {}",
                error::WITHOUT_GPU
            ));
        }
        let mut log = [text(&self.error), text(&self.info)].into_iter().find(|log| !log.is_empty()).unwrap_or(meaning);
        if code == error::UNSUPPORTED_PTX_VERSION {
            log.push_str("\nThe driver is older than this kernel's PTX version: update it.");
        }
        Error::Compile { code, name, log }
    }
}

fn text(log: &[u8]) -> String {
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_counted_where_all_are_words() {
        let text = "
            .visible .entry two(.param .u64 a, // .param .u64 no
                .param .b64 b) .maxntid 32, 1, 1 { ret; }
            /* .entry two(.param .u64 a) { */ .entry none() { ret; }
            .entry bare { ret; }
            .entry narrow(.param .u64 a, .param .u32 b) { ret; }
            .entry wide(.param .align 8 .b8 a[64]) { ret; }
            .entry row(.param .u64 a[4]) { ret; }";
        let known = parameters(text);
        let expected = [("bare", 0), ("none", 0), ("two", 2)].map(|(name, count)| (name.to_owned(), count));
        assert_eq!(known, BTreeMap::from(expected));
        assert!(parameters("nonsense .entry").is_empty());
    }

    #[test]
    fn comments_end_with_their_line_or_mark() {
        assert_eq!(without_comments("a // b /* c\nd /* e // */ f"), "a  \nd   f");
        assert_eq!(without_comments("a /* b"), "a  ");
    }
}
