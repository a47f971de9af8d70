//! What this machine offers: a place to keep things, and walls around servers.

use toolyard_hub::config::Config;
use toolyard_hub::process::sandbox::confinement_support;
use toolyard_hub::{seal, store};

use super::Finding;

/// Looks at the store and the system before a hub repairs or uses anything.
pub(super) fn findings(config: &Config) -> Vec<Finding> {
    let folder = &config.store.folder;
    let mut findings = vec![match store::check(folder) {
        Ok(()) => Finding::good(format!("what is learnt is kept in {}", folder.display())),
        Err(why) => Finding::bad(
            format!("nothing new can be kept: {why}"),
            "make the folder and its files writable for yourself, or name another one as `store.folder`",
        ),
    }];
    if let Err(err) = seal::check(folder) {
        let fix = err.fix().unwrap_or_else(|| "see whether the folder can be read".to_owned());
        findings.push(match err {
            seal::Error::Damaged { .. } => Finding::note(err.to_string(), fix),
            seal::Error::Key(_) | seal::Error::Folder { .. } => Finding::bad(err.to_string(), fix),
        });
    }
    let support = confinement_support();
    findings.push(match (support.missing, support.signals) {
        (Some((missing, fix)), _) => {
            Finding::note(format!("servers cannot be confined with `sandbox`: {missing}"), fix)
        }
        (None, true) => {
            Finding::good("servers can be confined with `sandbox`: their files, network and signals")
        }
        (None, false) => Finding::note(
            "servers can be confined with `sandbox`: their files and network, not their signals to your other programs",
            "signals need Linux 6.12 or newer",
        ),
    });
    findings
}
