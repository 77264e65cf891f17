//! What is known of the host of a run. Nothing here names the host or its users.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The host of a run (Größler, table 5.2; Mei and others, section 3.2; Fuchs, tables 1 and 2). `None`: the host does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Model of the CPU, as it names itself; of one without a name, the numbers of its implementer and part.
    pub cpu: Option<String>,
    /// Sockets with a CPU.
    pub sockets: Option<u32>,
    /// Cores of all sockets.
    pub cores: Option<u32>,
    /// Hardware threads that the system uses.
    pub threads: Option<u32>,
    /// Memory that the system uses, in bytes. A container may have less of it.
    pub memory: Option<u64>,
    /// Operating system with its version; in a container, that of the container.
    pub os: Option<String>,
    /// Kernel and its release, such as `Linux 6.8.0-45-generic`.
    pub kernel: Option<String>,
    /// Instruction set that strata was built for, such as `x86_64`.
    pub architecture: String,
}
