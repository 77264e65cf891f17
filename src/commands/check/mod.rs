//! `strata check`: each GPU of a node, and each link between them, against a policy, in bounded time.

mod links;
mod watched;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use gpu_strata::facts::Listed;
use gpu_strata::links::Link;
use gpu_strata::node::NodeGpu;
use gpu_strata::topology::Topology;
use gpu_strata::{Examined, GpuCount, Health, NodeDiscovery, Outcome, Policy, Verdict, check_node};
use strata_files::STANDARD;

use super::files::Files;
use super::node::{self, NodeFiles};
use super::output::{self, Destination};
use super::{Call, Fault};
use crate::cli::{Check, ExitStyle, ListFormat};
pub use watched::end_with_the_watcher;
use watched::{Ended, Watched};

/// What names the file of the measured values.
const RESULT: &str = "--result";
/// All GPUs that the driver lists.
const ALL: &str = "all";
/// The option that chooses the exit status.
const EXIT_STYLE: &str = "--exit-style";
/// What is reported in place of GPUs, if the driver cannot list them.
const DRIVER: &str = "driver";
/// Signals by which a process ends itself when something is wrong in it: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV. Others
/// come from outside, such as that of a system without memory.
const CRASHES: [i32; 6] = [4, 5, 6, 7, 8, 11];

/// Checks, reports, and returns the exit status that the user's program expects.
pub fn run(arguments: &Check, call: Call) -> Result<ExitCode, Fault> {
    checked(arguments, call).map_err(|fault| fault.with_status(status(arguments.exit_style, Verdict::Untested).0))
}

fn checked(arguments: &Check, call: Call) -> Result<ExitCode, Fault> {
    let Check { policy, node, .. } = arguments;
    let (output, result) = (arguments.output.as_deref(), arguments.result.as_deref());
    let files = arguments.device.split(',').fold(Files::default(), |files, name| files.device(name.trim()));
    let files = node::checked(files.read(policy), node).written(result, RESULT);
    // If the result takes standard output, the report needs a file.
    let report = node::report(output, node).or(result.filter(|path| *path == Path::new(STANDARD)));
    files.written(report, output::OUTPUT).check()?;
    let policies: Vec<Policy> = policy.iter().map(Policy::open).collect::<Result<_, _>>()?;
    let destination = Destination::at(output, output::OUTPUT)?;
    let beside = NodeFiles::open(node)?;
    let kept = result.map(|path| Destination::at(Some(path), RESULT)).transpose()?;

    let deadline = call.started + arguments.timeout;
    let (examined, count) = examine(arguments, &policies, deadline);
    let discovery = measured(&examined);
    let health = check_node(&policies, examined, count, call.started.elapsed());
    let reported = report_of(&health, arguments).and_then(|text| destination.write(&text));
    // One file that cannot be written does not keep the others from being written.
    let kept = kept.map_or(Ok(()), |file| file.write(&discovery.compact_json()?));
    let beside = beside.write_by(|format| format.write_node(&discovery.node));
    reported.and(kept).and(beside)?;
    Ok(ExitCode::from(status(arguments.exit_style, health.verdict()).0))
}

fn report_of(health: &Health, arguments: &Check) -> Result<String, Fault> {
    let word = match arguments.exit_style {
        ExitStyle::Nagios => Some(status(ExitStyle::Nagios, health.verdict()).1),
        ExitStyle::Diff | ExitStyle::Npd => None,
    };
    Ok(match arguments.format {
        ListFormat::Text => health.text(word),
        ListFormat::Json => health.json()?,
    })
}

/// The exit status of a command line that cannot be read: nothing is tested, in the style that it asks for.
pub fn status_of_unread(line: impl Iterator<Item = OsString>) -> u8 {
    let words: Vec<String> = line.skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let is_check = words.iter().find(|word| !word.starts_with('-')).is_some_and(|word| word == "check");
    let follows = words.iter().zip(words.iter().skip(1)).find(|(word, _)| *word == EXIT_STYLE).map(|(_, next)| &**next);
    let within = || words.iter().find_map(|word| word.strip_prefix(EXIT_STYLE)?.strip_prefix('='));
    let style = follows.or_else(within).filter(|_| is_check).and_then(|name| ExitStyle::from_str(name, false).ok());
    status(style.unwrap_or(ExitStyle::Diff), Verdict::Untested).0
}

/// The exit status of a verdict, and the word that Nagios has for it.
fn status(style: ExitStyle, verdict: Verdict) -> (u8, &'static str) {
    let of_nagios = style == ExitStyle::Nagios;
    match verdict {
        Verdict::Passed => (0, "OK"),
        Verdict::Incomplete => (1, "WARNING"),
        Verdict::Failed => (if of_nagios { 2 } else { 1 }, "CRITICAL"),
        Verdict::Untested => (if of_nagios { 3 } else { 2 }, "UNKNOWN"),
    }
}

/// Measures all GPUs at the same time, each in a process of its own, and then the links between them; what no policy is for is left out.
/// Says how many GPUs there should be and are.
fn examine(arguments: &Check, policies: &[Policy], deadline: Instant) -> (Vec<Examined>, Option<GpuCount>) {
    let listed = match arguments.device.trim().eq_ignore_ascii_case(ALL) {
        true => listed(arguments.timeout, deadline),
        false => Ok(arguments.device.split(',').map(|name| (name.trim().to_owned(), None)).collect()),
    };
    let count = |found| arguments.gpus.map(|expected| GpuCount { expected, found });
    let gpus = match listed {
        Ok(gpus) => gpus,
        Err(outcome) => {
            return (vec![Examined { device: DRIVER.to_owned(), to: None, uuid: None, outcome }], count(0));
        }
    };
    let found = count(gpus.len());
    let (of_links, of_gpus): (Vec<&Policy>, Vec<&Policy>) = policies.iter().partition(|policy| policy.is_of_links());
    let names: Vec<String> = gpus.iter().map(|(device, _)| device.clone()).collect();
    let mut examined = if of_gpus.is_empty() { Vec::new() } else { each(arguments, &of_gpus, gpus, deadline) };
    if !of_links.is_empty() {
        let links = links::examine(arguments, &of_links, &names, &examined, deadline);
        examined.extend(links);
    }
    (examined, found)
}

/// Measures all GPUs at the same time.
fn each(
    arguments: &Check,
    policies: &[&Policy],
    gpus: Vec<(String, Option<String>)>,
    deadline: Instant,
) -> Vec<Examined> {
    let mut started: Vec<_> =
        gpus.iter().map(|(device, _)| Watched::start(&measurement(arguments, policies, device))).collect();
    let mut ended: Vec<Option<Ended>> =
        started.iter_mut().map(|watched| watched.as_mut().ok().and_then(|watched| watched.end(deadline))).collect();
    // All that hang are killed by now, so that they end at the same time.
    let patience = Instant::now() + watched::GRACE;
    let examined =
        gpus.into_iter().zip(started.iter_mut().zip(&mut ended)).map(|((device, uuid), (watched, ended))| {
            let outcome = match (watched, ended.take()) {
                (Err(error), _) => unstarted(error),
                (Ok(_), Some(ended)) => outcome(ended),
                (Ok(watched), None) => killed(watched.is_gone(patience), arguments.timeout),
            };
            Examined { device, to: None, uuid, outcome }
        });
    examined.collect()
}

/// The GPUs that the driver lists: names and UUIDs.
fn listed(timeout: Duration, deadline: Instant) -> Result<Vec<(String, Option<String>)>, Outcome> {
    let command = ["devices", "--format", "json"].map(str::to_owned);
    let text = printed(&command, timeout, deadline)?;
    let listed: Vec<Listed> = serde_json::from_slice(&text).map_err(|error| Outcome::Untested(error.to_string()))?;
    Ok(listed.into_iter().map(|gpu| (format!("cuda:{}", gpu.ordinal), gpu.uuid)).collect())
}

/// The command line that measures one GPU.
fn measurement(arguments: &Check, policies: &[&Policy], device: &str) -> Vec<String> {
    command(arguments, policies, &["discover", "--compact"], device)
}

/// A command line that measures what these policies have limits for.
fn command(arguments: &Check, policies: &[&Policy], command: &[&str], device: &str) -> Vec<String> {
    let seconds = |duration: Duration| duration.as_secs_f64().to_string();
    let (effort, seed, wait) =
        (arguments.effort.name(), arguments.conditions.seed.to_string(), seconds(arguments.conditions.wait));
    let options = ["--device", device, "--effort", effort, "--seed", &seed, "--wait", &wait, "--format", "json"];
    let mut line: Vec<String> = ["--quiet"].iter().chain(command).copied().chain(options).map(str::to_owned).collect();
    if arguments.conditions.no_host_facts {
        line.push("--no-host-facts".to_owned());
    }
    let wanted: Vec<_> = policies.iter().map(|policy| policy.wanted()).collect();
    // One policy that needs everything is enough.
    if wanted.iter().all(|wanted| !wanted.is_empty()) {
        let names: Vec<String> = wanted.iter().flatten().map(ToString::to_string).collect();
        line.extend(["--only".to_owned(), names.join(",")]);
    }
    line
}

/// What a process says of its GPU.
fn outcome(ended: Ended) -> Outcome {
    let topology = answer(ended).and_then(|text| sound(serde_json::from_slice(&text), Topology::defect));
    topology.map_or_else(|outcome| outcome, |topology| Outcome::Measured(Box::new(topology)))
}

/// A result that was read, if nothing in it is impossible.
fn sound<T>(read: serde_json::Result<T>, defect: impl Fn(&T) -> Option<String>) -> Result<T, Outcome> {
    let read = read.map_err(|error| error.to_string());
    let sound = read.and_then(|result| defect(&result).map_or(Ok(result), Err));
    sound.map_err(|why| Outcome::Untested(format!("its result cannot be read: {why}")))
}

/// What a process prints that nothing else runs beside, or why that says nothing.
fn printed(line: &[String], timeout: Duration, deadline: Instant) -> Result<Vec<u8>, Outcome> {
    let mut watched = Watched::start(line).map_err(|error| unstarted(&error))?;
    match watched.end(deadline) {
        Some(ended) => answer(ended),
        None => Err(killed(watched.is_gone(Instant::now() + watched::GRACE), timeout)),
    }
}

fn unstarted(error: &io::Error) -> Outcome {
    Outcome::Untested(format!("strata cannot start a process: {error}"))
}

/// What a process printed, or why that says nothing.
fn answer(ended: Ended) -> Result<Vec<u8>, Outcome> {
    match ended {
        Ended::Signal { signal } if CRASHES.contains(&signal) => {
            Err(Outcome::Sick(format!("its process crashed (signal {signal})")))
        }
        Ended::Signal { signal } => {
            Err(Outcome::Untested(format!("its process was ended from outside (signal {signal})")))
        }
        // A result with unknowns (4) is a result.
        Ended::Exit { status: 0 | 4, stdout, .. } => Ok(stdout),
        // A call of the driver failed during the run.
        Ended::Exit { status: 1, stderr, .. } => Err(Outcome::Sick(stderr)),
        Ended::Exit { stderr, .. } => Err(Outcome::Untested(stderr)),
    }
}

/// What is said of a GPU whose process was killed.
fn killed(is_gone: bool, timeout: Duration) -> Outcome {
    let what = if is_gone {
        "its process was killed"
    } else {
        "its process was killed, but has not ended: it hangs in the driver"
    };
    Outcome::Sick(format!("no answer within {} s; {what}", timeout.as_secs_f64()))
}

/// All measured values, as a discovery of several GPUs has them.
fn measured(examined: &[Examined]) -> NodeDiscovery {
    let (mut gpus, mut links) = (Vec::new(), Vec::new());
    for Examined { device, to, outcome, .. } in examined {
        let (topology, failure) = match outcome {
            Outcome::Measured(topology) => (Some((**topology).clone()), None),
            Outcome::Sick(why) | Outcome::Untested(why) => (None, Some(why.clone())),
        };
        match to {
            None => gpus.push(NodeGpu { device: device.clone(), topology, failure, numa_node: None }),
            Some(to) => links.push(Link { from: device.clone(), to: to.clone(), topology, failure }),
        }
    }
    NodeDiscovery::of(gpus, links)
}
