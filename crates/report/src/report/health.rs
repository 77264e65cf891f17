//! The health of a node as lines: the node first, then each GPU.

use super::words::printable;
use crate::health::{GpuHealth, Health, word};

/// One line for the node, and one for each GPU. Programs read them by line, so they are not wrapped. `status` stands before the
/// first one.
pub fn text(health: &Health, status: Option<&str>) -> String {
    let status = status.map(|status| format!("{status}: ")).unwrap_or_default();
    let node = format!("{status}{}", health.summary);
    std::iter::once(node).chain(health.gpus.iter().map(gpu)).map(|line| printable(&line) + "\n").collect()
}

fn gpu(gpu: &GpuHealth) -> String {
    let known = [&gpu.uuid, &gpu.product].into_iter().flatten().map(String::as_str);
    let named: Vec<&str> = std::iter::once(gpu.device.as_str()).chain(known).collect();
    format!("{} {}: {}", named.join(" "), word(gpu.verdict), gpu.summary)
}
