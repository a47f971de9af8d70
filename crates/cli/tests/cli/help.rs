//! The reference of the command line: what `--help` says, for every command.

use crate::place::Place;

#[test]
fn the_overview_shows_every_command() {
    insta::assert_snapshot!(Place::new().run(&["--help"]), @r#"
    One plug for every tool: connects to all your MCP servers and serves them as one

    Usage: toolyard [OPTIONS] [COMMAND]

    Commands:
      serve        Serve all tools to MCP clients, over stdio or HTTP
      route        Say what you want: finds the tool and runs it, or asks
      list         List every tool, by server
      find         Find tools by what they do, the best first
      describe     Show what a tool does, its parameters and how to call it
      call         Run a tool and print what it answers
      chat         Talk to a language model that has your tools
      proxy-llm    Give any client of OpenAI or Ollama your tools
      run          Run a workflow from a file or by its name
      runs         See, resume and cancel runs of workflows
      toolset      Play a conversation and show which tools it is given, message by message
      skills       List skills: instructions with the tools they need
      tiers        List tools by tier: essential, utility, fallback
      domains      List domains: tools that are given out together
      consolidate  Show how families of tools become few: create_x, update_x and delete_x as manage_x
      packs        Show the servers that come with Toolyard, ready to be used
      add          Add a server to the configuration
      remove       Remove a server from the configuration
      import       Take over the servers of other MCP clients
      connect      Write Toolyard into the configuration of an MCP client
      client       Say who may come in over HTTP, and what each may do
      login        Log in at a server that wants to know who you are
      logs         Show what a server wrote to its stderr
      dashboard    See what the hub decides and why, correct it, and watch it learn
      routes       Show what was decided about requests
      feedback     Say whether a decision was right, so that the next one is
      learnt       Show what was learnt from corrections, explain it, take it back
      replay       Decide about yesterday's requests again, and show what would change
      audit        Show what was called, and how it ended
      audit-names  Find old names of tools in prompts, skills, code and tests
      status       Show the hubs that run now and the state of their servers
      doctor       Check the configuration and start every server, and say what helps
      diff         Show how tools differ from what was approved
      approve      Approve tools that are new or whose definition changed
      metadata     Write and check what is known of tools beyond what their servers say
      enrich       Let a language model write what people say when they need your tools
      lint         Score how well tools are documented, and find tools that are hard to tell apart
      eval         Measure how well requests find their tools
      completions  Print completions for a shell
      man          Print the manual page of toolyard, or of one command
      help         Print this message or the help of the given subcommand(s)

    Options:
      -c, --config <FILE>  Configuration file; otherwise toolyard.json here, then in your configuration
                           folder [env: TOOLYARD_CONFIG]
          --json           Answer with JSON on stdout, errors too: {"error": {"message", "hint"}}
      -v, --verbose...     Say more on stderr; twice for everything
      -h, --help           Print help
      -V, --version        Print version

    Examples:
      toolyard list                                      every tool of every server
      toolyard find "what time is it"                    the tools that fit these words
      toolyard route "what time is it in Tokyo"          the tool that is meant, run at once
      toolyard call time__current_time zone=Tokyo        run one
      toolyard serve                                     serve them all to an MCP client
      toolyard chat --model ollama:qwen3:0.6b            talk to a model that has them

    Without a configuration the built-in servers `time` and `notes` are there.
    Exit codes: 0 it worked, 1 it did not, 2 it was asked wrongly or the configuration has a mistake,
    3 a question is open.
    [exit 0]
    "#);
}

#[test]
fn every_command_explains_itself_with_examples() {
    let place = Place::new();
    let commands = [
        "serve",
        "route",
        "list",
        "find",
        "describe",
        "call",
        "toolset",
        "skills",
        "tiers",
        "domains",
        "consolidate",
        "packs",
        "add",
        "remove",
        "import",
        "connect",
        "client",
        "client add",
        "client list",
        "client revoke",
        "login",
        "logs",
        "audit",
        "audit-names",
        "status",
        "doctor",
        "diff",
        "approve",
        "metadata",
        "metadata export",
        "metadata check",
        "enrich",
        "lint",
        "eval",
        "completions",
        "man",
    ];
    let mut reference = String::new();
    for command in commands {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let output = place.output(&words);
        assert!(output.status.success(), "{command}");
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(help.contains("Examples:"), "{command}");
        reference += &format!("# toolyard {command}\n\n{}\n\n", own_part(&help));
    }
    // Too long to stand here.
    insta::assert_snapshot!("reference", reference);
}

/// Leaves out the options that all commands share; they are in the overview.
fn own_part(help: &str) -> String {
    let mut own = String::new();
    let mut is_shared = false;
    for line in help.lines() {
        let option = line.trim_start();
        if option.starts_with('-') {
            let shared = ["-c, --config", "--json", "-v, --verbose", "-h, --help"];
            is_shared = shared.iter().any(|it| option.starts_with(it));
        } else if is_shared && !line.is_empty() && !line.starts_with(' ') {
            is_shared = false;
            own.push('\n');
        }
        if !is_shared {
            own += &format!("{line}\n");
        }
    }
    own.trim_end().to_owned()
}

#[test]
fn completions_and_manual_are_printed_for_every_taker() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = place.output(&["completions", shell]);
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && script.contains("doctor"), "{shell}");
    }
    let manual = place.run(&["man"]);
    assert!(manual.contains(".TH toolyard 1") && manual.ends_with("[exit 0]"), "{manual}");
    let page = place.run(&["man", "call"]);
    assert!(page.contains("KEY=VALUE") && page.contains("isError"), "{page}");
    insta::assert_snapshot!(place.run(&["man", "cal"]), @"
    [stderr]
    error: there is no command `cal`
      hint: `toolyard help` shows all commands
    [exit 2]
    ");
}
