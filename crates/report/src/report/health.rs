//! The health of a node as lines: the node first, then each GPU, then each link.

use super::words::printable;
use crate::health::{GpuHealth, Health, LinkHealth, word};

/// One line for the node, one for each GPU, and one for each link. Programs read them by line, so they are not wrapped. `status` stands before the
/// first one.
pub fn text(health: &Health, status: Option<&str>) -> String {
    let status = status.map(|status| format!("{status}: ")).unwrap_or_default();
    let node = format!("{status}{}", health.summary);
    let parts = health.gpus.iter().map(gpu).chain(health.links.iter().map(link));
    std::iter::once(node).chain(parts).map(|line| printable(&line) + "\n").collect()
}

fn link(link: &LinkHealth) -> String {
    format!("{} to {} {}: {}", link.from, link.to, word(link.verdict), link.summary)
}

fn gpu(gpu: &GpuHealth) -> String {
    let known = [&gpu.uuid, &gpu.product].into_iter().flatten().map(String::as_str);
    let named: Vec<&str> = std::iter::once(gpu.device.as_str()).chain(known).collect();
    format!("{} {}: {}", named.join(" "), word(gpu.verdict), gpu.summary)
}
