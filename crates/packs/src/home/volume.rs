//! The loudness of this computer, by whichever program its sound system has for that.
//!
//! The program is looked for once, when the pack is opened; a computer without sound has no volume tools.

mod program; // runs a program with a time limit

use std::{ffi::OsStr, path::PathBuf, time::Duration};

use crate::reply::shown;

/// The programs answer at once; only PowerShell has to compile something first.
const LIMIT: Duration = Duration::from_secs(5);
const SLOW_LIMIT: Duration = Duration::from_secs(20);

const WINDOWS: &str = include_str!("volume/windows.ps1");

/// The default output of this computer.
#[derive(Debug)]
pub(super) struct Speaker {
    system: System,
    program: PathBuf,
}

/// How loud an output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loudness {
    /// In percent; some systems go over 100.
    pub(super) volume: u16,
    pub(super) muted: bool,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("the sound system cannot be asked: {0}. Check that sound works on this computer, then try again")]
    Program(#[from] program::Error),
    #[error("the answer of {system} cannot be read (`{output}`): check that the default output has a volume")]
    Unreadable { system: &'static str, output: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    PipeWire,
    PulseAudio,
    /// With the name of the mixer's control.
    Alsa(&'static str),
    MacOs,
    Windows,
}

impl Speaker {
    /// Finds the first sound system of this search path that answers.
    pub(super) fn find(path: &OsStr) -> Option<Self> {
        const SYSTEMS: [(&str, System); 6] = [
            ("wpctl", System::PipeWire),
            ("pactl", System::PulseAudio),
            ("amixer", System::Alsa("Master")),
            ("amixer", System::Alsa("PCM")),
            ("osascript", System::MacOs),
            ("powershell.exe", System::Windows),
        ];
        SYSTEMS.into_iter().find_map(|(name, system)| {
            let speaker = Self { system, program: program::find(path, name)? };
            // Windows always has its interfaces, and asking them is slow.
            (system == System::Windows || speaker.read().is_ok()).then_some(speaker)
        })
    }

    /// Returns the name of the sound system.
    pub(super) fn name(&self) -> &'static str {
        match self.system {
            System::PipeWire => "PipeWire",
            System::PulseAudio => "PulseAudio",
            System::Alsa(_) => "ALSA",
            System::MacOs => "macOS",
            System::Windows => "Windows",
        }
    }

    /// Asks how loud the output is.
    pub(super) fn read(&self) -> Result<Loudness, Error> {
        let output = match self.system {
            System::PipeWire => self.run(&["get-volume", "@DEFAULT_AUDIO_SINK@"])?,
            System::PulseAudio => {
                let volume = self.run(&["get-sink-volume", "@DEFAULT_SINK@"])?;
                format!("{volume}\n{}", self.run(&["get-sink-mute", "@DEFAULT_SINK@"])?)
            }
            System::Alsa(control) => self.run(&["-M", "sget", control])?,
            System::MacOs => self.run(&["-e", "get volume settings"])?,
            System::Windows => self.script("[Output]::Tell()")?,
        };
        let loudness = parse(self.system, &output);
        loudness.ok_or_else(|| Error::Unreadable { system: self.name(), output: shown(output.trim()) })
    }

    /// Sets the volume, in percent.
    pub(super) fn set_volume(&self, volume: u16) -> Result<(), Error> {
        let percent = format!("{volume}%");
        match self.system {
            System::PipeWire => self.run(&["set-volume", "@DEFAULT_AUDIO_SINK@", &percent])?,
            System::PulseAudio => self.run(&["set-sink-volume", "@DEFAULT_SINK@", &percent])?,
            System::Alsa(control) => self.run(&["-M", "-q", "sset", control, &percent])?,
            System::MacOs => self.run(&["-e", &format!("set volume output volume {volume}")])?,
            System::Windows => self.script(&format!("[Output]::SetVolume({volume})"))?,
        };
        Ok(())
    }

    /// Mutes the output, or lets it be heard again.
    pub(super) fn set_muted(&self, muted: bool) -> Result<(), Error> {
        let digit = if muted { "1" } else { "0" };
        match self.system {
            System::PipeWire => self.run(&["set-mute", "@DEFAULT_AUDIO_SINK@", digit])?,
            System::PulseAudio => self.run(&["set-sink-mute", "@DEFAULT_SINK@", digit])?,
            System::Alsa(control) => {
                self.run(&["-M", "-q", "sset", control, if muted { "mute" } else { "unmute" }])?
            }
            System::MacOs => self.run(&["-e", &format!("set volume output muted {muted}")])?,
            System::Windows => self.script(&format!("[Output]::SetMuted(${muted})"))?,
        };
        Ok(())
    }

    fn run(&self, arguments: &[&str]) -> Result<String, Error> {
        Ok(program::run(&self.program, arguments, LIMIT)?)
    }

    fn script(&self, call: &str) -> Result<String, Error> {
        let script = format!("{WINDOWS}\n{call}");
        Ok(program::run(&self.program, &["-NoProfile", "-NonInteractive", "-Command", &script], SLOW_LIMIT)?)
    }
}

/// Reads what the program of a sound system writes.
fn parse(system: System, output: &str) -> Option<Loudness> {
    match system {
        // "Volume: 0.40 [MUTED]"
        System::PipeWire => {
            let level: f64 = output.strip_prefix("Volume:")?.split_whitespace().next()?.parse().ok()?;
            Some(Loudness { volume: (level * 100.0).round() as u16, muted: output.contains("[MUTED]") })
        }
        // "Volume: front-left: 26214 /  40% / -23.88 dB, …" and "Mute: no"
        System::PulseAudio => {
            let volume = output.lines().find(|line| line.trim_start().starts_with("Volume:"))?;
            let muted = output.lines().find_map(|line| line.trim().strip_prefix("Mute:"))?;
            Some(Loudness { volume: percent(volume.split(['/', ' ']))?, muted: muted.trim() == "yes" })
        }
        // "  Front Left: Playback 26214 [40%] [-16.00dB] [on]"
        System::Alsa(_) => {
            let line = output.lines().find(|line| line.contains("%]"))?;
            Some(Loudness { volume: percent(line.split(['[', ']']))?, muted: line.contains("[off]") })
        }
        // "output volume:40, input volume:75, alert volume:100, output muted:false"
        System::MacOs => {
            let named = |name: &str| output.split(',').find_map(|part| part.trim().strip_prefix(name));
            let (volume, muted) = (named("output volume:")?, named("output muted:")?);
            Some(Loudness { volume: volume.trim().parse().ok()?, muted: muted.trim() == "true" })
        }
        // "40 False"
        System::Windows => {
            let (volume, muted) = output.trim().split_once(' ')?;
            Some(Loudness { volume: volume.parse().ok()?, muted: muted.trim() == "True" })
        }
    }
}

fn percent<'p>(mut parts: impl Iterator<Item = &'p str>) -> Option<u16> {
    parts.find_map(|part| part.trim().strip_suffix('%')?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::{Loudness, System, parse};

    #[test]
    fn t1_what_every_sound_system_writes_is_read() {
        let heard = |volume, muted| Some(Loudness { volume, muted });
        let pulse = "Volume: front-left: 26214 /  40% / -23.88 dB,   front-right: 26214 /  40% / -23.88 dB\n        \
             balance 0.00\n";
        let alsa = "Simple mixer control 'Master',0\n  Capabilities: pvolume pswitch pswitch-joined\n  Playback \
             channels: Front Left - Front Right\n  Limits: Playback 0 - 65536\n  Mono:\n  Front Left: Playback 45875 \
             [70%] [on]\n  Front Right: Playback 45875 [70%] [on]\n";
        let mono = "Simple mixer control 'Master',0\n  Capabilities: pvolume pvolume-joined pswitch pswitch-joined\n  \
             Playback channels: Mono\n  Limits: Playback 0 - 87\n  Mono: Playback 52 [24%] [-26.25dB] [off]\n";
        let mac = "output volume:40, input volume:75, alert volume:100, output muted:false\n";
        let cases = [
            (System::PipeWire, "Volume: 0.40\n".to_owned(), heard(40, false)),
            (System::PipeWire, "Volume: 1.25 [MUTED]\n".to_owned(), heard(125, true)),
            (System::PulseAudio, format!("{pulse}\nMute: no\n"), heard(40, false)),
            (System::PulseAudio, format!("{pulse}\nMute: yes\n"), heard(40, true)),
            (System::Alsa("Master"), alsa.to_owned(), heard(70, false)),
            (System::Alsa("Master"), mono.to_owned(), heard(24, true)),
            (System::MacOs, mac.to_owned(), heard(40, false)),
            (System::MacOs, mac.replace("muted:false", "muted:true"), heard(40, true)),
            (System::Windows, "40 False\r\n".to_owned(), heard(40, false)),
            (System::Windows, "0 True\r\n".to_owned(), heard(0, true)),
        ];
        for (system, output, loudness) in cases {
            assert_eq!(parse(system, &output), loudness, "{system:?}: {output}");
        }
    }

    #[test]
    fn t1_what_is_no_volume_is_not_taken_for_one() {
        let cases = [
            (System::PipeWire, "Translate ID error: '@DEFAULT_AUDIO_SINK@' is not a valid ID"),
            (System::PulseAudio, "Connection failure: Connection refused"),
            (
                System::Alsa("Master"),
                "Simple mixer control 'Master',0\n  Capabilities: pswitch\n  Mono: Playback [on]",
            ),
            (System::MacOs, "output volume:missing value, input volume:75, output muted:missing value"),
            (System::Windows, ""),
        ];
        for (system, output) in cases {
            assert_eq!(parse(system, output), None, "{system:?}: {output}");
        }
    }
}
