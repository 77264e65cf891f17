//! Selects a device: `auto`, `cuda:N` or `N`, a UUID or its beginning, or a PCI address.

use strata_gpu::{Error, Listed, Result};

/// The one listed device that the selector names.
pub(super) fn select<'l>(selector: &str, listed: &'l [Listed]) -> Result<&'l Listed> {
    let selector = selector.trim();
    let found: Vec<&Listed> = if selector.eq_ignore_ascii_case("auto") {
        listed.iter().take(1).collect()
    } else if let Some(ordinal) = strip_prefix(selector, "cuda:").or(Some(selector).filter(|text| is_number(text))) {
        listed.iter().filter(|device| ordinal.parse() == Ok(device.ordinal)).collect()
    } else if strip_prefix(selector, "gpu-").or(strip_prefix(selector, "mig-")).is_some() {
        let named = |uuid: &str| strip_prefix(uuid, selector).is_some();
        listed.iter().filter(|device| device.uuid.as_deref().is_some_and(named)).collect()
    } else if let Some(address) = Pci::parse(selector) {
        let there = |pci: &str| Pci::parse(pci).is_some_and(|own| address.names(own));
        listed.iter().filter(|device| device.pci.as_deref().is_some_and(there)).collect()
    } else {
        return Err(Error::NoDevice(format!(
            "`{selector}` names no CUDA device. A device is `auto`, `cuda:N`, a UUID or a PCI address, of:{}",
            table(listed)
        )));
    };
    match found[..] {
        [device] => Ok(device),
        [] => Err(Error::NoDevice(format!("there is no device `{selector}`. The driver sees:{}", table(listed)))),
        _ => Err(Error::NoDevice(format!("`{selector}` fits more than one device. The driver sees:{}", table(listed)))),
    }
}

/// `0` is short for `cuda:0`.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn table(listed: &[Listed]) -> String {
    let absent = || "-".to_owned();
    listed
        .iter()
        .map(|d| {
            let (uuid, pci) = (d.uuid.clone().unwrap_or_else(absent), d.pci.clone().unwrap_or_else(absent));
            format!("\n  cuda:{}  {}  {uuid}  {pci}", d.ordinal, d.name)
        })
        .collect()
}

fn strip_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    text.get(..prefix.len()).filter(|start| start.eq_ignore_ascii_case(prefix))?;
    Some(&text[prefix.len()..])
}

/// A PCI address. `nvidia-smi` writes the domain with eight digits, the driver with four, `lspci` leaves it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pci {
    domain: Option<u32>,
    bus: u32,
    device: u32,
    function: u32,
}

impl Pci {
    fn parse(text: &str) -> Option<Pci> {
        let hex = |digits: &str| u32::from_str_radix(digits, 16).ok();
        let (address, function) = text.split_once('.').unwrap_or((text, "0"));
        let parts: Vec<&str> = address.split(':').collect();
        let (domain, bus, device) = match parts[..] {
            [domain, bus, device] => (Some(hex(domain)?), bus, device),
            [bus, device] => (None, bus, device),
            _ => return None,
        };
        Some(Pci { domain, bus: hex(bus)?, device: hex(device)?, function: hex(function)? })
    }

    fn names(self, other: Pci) -> bool {
        let domain = self.domain.is_none() || self.domain == other.domain;
        domain && (self.bus, self.device, self.function) == (other.bus, other.device, other.function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> Vec<Listed> {
        let device = |ordinal, uuid: &str, pci: &str| Listed {
            ordinal,
            name: "Some GPU".to_owned(),
            uuid: Some(uuid.to_owned()),
            pci: Some(pci.to_owned()),
            compute_capability: (9, 0),
            total_memory: 1 << 30,
        };
        vec![
            device(0, "GPU-aa110000-0000-0000-0000-000000000000", "0000:1b:00.0"),
            device(1, "GPU-aa220000-0000-0000-0000-000000000000", "0000:43:00.0"),
            device(2, "MIG-bb330000-0000-0000-0000-000000000000", "0001:43:00.0"),
        ]
    }

    fn ordinal(selector: &str) -> Option<u32> {
        select(selector, &listed()).ok().map(|device| device.ordinal)
    }

    #[test]
    fn every_way_of_naming_a_device_finds_it() {
        for (selector, device) in [
            ("auto", 0),
            ("cuda:1", 1),
            ("GPU-aa220000-0000-0000-0000-000000000000", 1),
            ("gpu-AA2", 1),
            ("MIG-b", 2),
            ("0000:1b:00.0", 0),
            ("1B:00.0", 0),
            ("00000000:43:00.0", 1),
            ("0001:43:00.0", 2),
        ] {
            assert_eq!(ordinal(selector), Some(device), "{selector}");
        }
    }

    #[test]
    fn what_names_none_or_several_is_answered_with_what_there_is() {
        for selector in
            ["cuda:3", "cuda:-1", "cuda:", "GPU-aa", "GPU-cc", "43:00.0", "2b:00.0", "", "H200", "sim:a100", "ü"]
        {
            match select(selector, &listed()) {
                Err(Error::NoDevice(text)) => {
                    assert!(text.contains("cuda:1  Some GPU  GPU-aa220000") && text.contains("0000:43:00.0"), "{text}");
                }
                other => panic!("{selector}: {other:?}"),
            }
        }
    }
}
