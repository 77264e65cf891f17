//! A process of strata that is killed when its time is over. A driver that never answers hangs that process, and not this one.

use std::io::{self, Read};
use std::os::unix::process::{ExitStatusExt, parent_id};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;

/// Names the process that watches this one.
const WATCHER: &str = "STRATA_WATCHED_BY";
/// Longest output that is read, in bytes. A compact result of an H200 has some 175,000.
const LONGEST: u64 = 64 << 20;
/// How often a process is asked whether it has ended, after it has closed its output.
const POLL: Duration = Duration::from_millis(5);
/// How long killed processes have to end: on a host of four H200s one needed more than half a second to give its memory back. One that
/// waits for hardware inside the kernel does not end at all.
pub const GRACE: Duration = Duration::from_secs(3);

/// A process that runs.
pub struct Watched {
    child: Child,
    stdout: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
}

/// How it ended.
pub enum Ended {
    /// By itself.
    Exit {
        /// Its status.
        status: i32,
        /// What it printed.
        stdout: Vec<u8>,
        /// What is wrong, if it says so.
        stderr: String,
    },
    /// By a signal.
    Signal {
        /// The number of the signal.
        signal: i32,
    },
}

impl Watched {
    /// Starts this program with other arguments.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub fn start(arguments: &[String]) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments).env(WATCHER, std::process::id().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (stdout, stderr) = (collected(child.stdout.take()), collected(child.stderr.take()));
        Ok(Watched { child, stdout, stderr })
    }

    /// Waits until it has ended by itself, or kills it at the deadline; then [`Watched::is_gone`] says whether it has ended.
    pub fn end(&mut self, deadline: Instant) -> Option<Ended> {
        let left = || deadline.saturating_duration_since(Instant::now());
        let stdout = self.stdout.recv_timeout(left());
        if stdout != Err(RecvTimeoutError::Timeout)
            && let Some(status) = self.exited(deadline)
        {
            return Some(match status.code() {
                None => Ended::Signal { signal: status.signal().unwrap_or_default() },
                Some(status) => {
                    let stderr = self.stderr.recv_timeout(GRACE).unwrap_or_default();
                    Ended::Exit { status, stdout: stdout.unwrap_or_default(), stderr: what_is_wrong(&stderr) }
                }
            });
        }
        // It may just have ended by itself; then there is nothing to kill.
        drop(self.child.kill());
        None
    }

    /// Whether it has ended, by then at the latest.
    pub fn is_gone(&mut self, by: Instant) -> bool {
        self.exited(by).is_some()
    }

    fn exited(&mut self, deadline: Instant) -> Option<std::process::ExitStatus> {
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(POLL);
        }
    }
}

/// Reads a pipe to its end in a thread: a process whose pipe is full would wait for ever.
fn collected(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // What came before an error is what there is.
            drop(pipe.take(LONGEST).read_to_end(&mut bytes));
        }
        // Nobody listens any more if the time was over.
        drop(sender.send(bytes));
    });
    receiver
}

/// What is wrong, of strata's errors: the first line, and the one behind it if that is the reason. The others say what to do.
fn what_is_wrong(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("it failed without a message");
    let first = first.strip_prefix("strata: ").unwrap_or(first);
    match lines.next().filter(|_| first.ends_with(':')) {
        Some(reason) => format!("{first} {reason}"),
        None => first.to_owned(),
    }
}

/// In a process that [`Watched::start`] started: ends it with the one that watches it, however that ends, so that nothing goes on to
/// measure for nobody.
pub fn end_with_the_watcher() {
    let Ok(watcher) = std::env::var(WATCHER) else { return };
    // Where the kernel does not know this request, the process ends after its measurement.
    let _ = set_pdeathsig(Signal::SIGKILL);
    // It may have ended before the request.
    if watcher != parent_id().to_string() {
        std::process::exit(130);
    }
}

#[cfg(test)]
mod tests {
    use super::what_is_wrong;

    #[test]
    fn what_is_wrong_is_said_without_advice() {
        assert_eq!(what_is_wrong(b"strata: cuda:0 is busy\nWait for it.\n"), "cuda:0 is busy");
        assert_eq!(
            what_is_wrong(b"strata: no driver can be opened:\n  a.so: no such file\nInstall it.\n"),
            "no driver can be opened: a.so: no such file"
        );
        assert_eq!(what_is_wrong(b" \n"), "it failed without a message");
    }
}
