//! The reference of the command line: what `--help` says, for every command.

use crate::place::Place;

#[test]
fn the_overview_shows_every_command() {
    insta::assert_snapshot!(Place::new().run(&["--help"]), @r#"
    One plug for every tool: connects to all your MCP servers and serves them as one

    Usage: toolyard [OPTIONS] [COMMAND]

    Commands:
      serve        Serve all tools to MCP clients, over stdio or HTTP
      list         List every tool, by server
      find         Find tools by what they do, the best first
      describe     Show what a tool does, its parameters and how to call it
      call         Run a tool and print what it answers
      add          Add a server to the configuration
      remove       Remove a server from the configuration
      import       Take over the servers of other MCP clients
      connect      Write Toolyard into the configuration of an MCP client
      login        Log in at a server that wants to know who you are
      logs         Show what a server wrote to its stderr
      status       Show the hubs that run now and the state of their servers
      doctor       Check the configuration and start every server, and say what helps
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
      toolyard call time__current_time zone=Tokyo        run one
      toolyard serve                                     serve them all to an MCP client

    Without a configuration the built-in servers `time` and `notes` are there.
    Exit codes: 0 it worked, 1 it did not, 2 it was asked wrongly or the configuration has a mistake.
    [exit 0]
    "#);
}

#[test]
fn every_command_explains_itself_with_examples() {
    let place = Place::new();
    let commands = [
        "serve",
        "list",
        "find",
        "describe",
        "call",
        "add",
        "remove",
        "import",
        "connect",
        "login",
        "logs",
        "status",
        "doctor",
        "completions",
        "man",
    ];
    let mut reference = String::new();
    for command in commands {
        let output = place.output(&[command, "--help"]);
        assert!(output.status.success(), "{command}");
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(help.contains("Examples:"), "{command}");
        reference += &format!("# toolyard {command}\n\n{}\n\n", own_part(&help));
    }
    insta::assert_snapshot!(reference, @r#"
    # toolyard serve


    Serve all tools to MCP clients, over stdio or HTTP

    Editing the configuration while the hub runs puts it in force: only servers that changed are

    restarted.

    Usage: toolyard serve [OPTIONS]

    Options:
          --stdio
              Serve the client at stdin and stdout (the default)

          --http [<ADDR>]
              Serve HTTP at this address, or at the configured one

          --surface <SURFACE>
              Which tools clients see

              Possible values:
              - route:   One tool that takes plain words (not built yet)
              - toolset: A small set that fits the session (not built yet)
              - search:  find_tools, describe_tool and call_tool
              - all:     Every tool as server__tool

    Examples:
      toolyard serve                       for a client that starts Toolyard itself (stdio)
      toolyard serve --http 127.0.0.1:8808 for clients over HTTP, at http://127.0.0.1:8808/mcp
      toolyard serve --surface all         list every tool as server__tool

    Without a surface, clients that are known to bear all tools get them all; the others get `search`.

    # toolyard list


    List every tool, by server

    Servers that were never reached are started once to learn their tools; after that the list needs no

    server running. A server that cannot be reached is named at the end.

    Usage: toolyard list [OPTIONS] [SERVER]

    Arguments:
      [SERVER]
              Only this server

    Options:

    Examples:
      toolyard list
      toolyard list git
      toolyard list --json | jq -r '.tools[].name'

    With --json: {"tools": [{"name", "server", "tool", "title", "effect", "summary",

    "parameters": [{"name", "type", "required"}]}], "failed": [{"server", "reason"}]}

    # toolyard find


    Find tools by what they do, the best first

    Usage: toolyard find [OPTIONS] <WORDS>...

    Arguments:
      <WORDS>...  What you want to do

    Options:
      -n, --limit <LIMIT>  How many to show at most [default: 8]

    Examples:
      toolyard find what time is it in Tokyo
      toolyard find -n 3 create an issue
      toolyard find --json send a message | jq -r '.tools[0].name'

    Finding nothing is exit code 1.

    With --json: {"query", "tools": [as in `list --json`, and "score"]}

    # toolyard describe


    Show what a tool does, its parameters and how to call it

    Usage: toolyard describe [OPTIONS] <TOOL>

    Arguments:
      <TOOL>  The tool as server__tool; its own name will do when only one server has it

    Options:

    Examples:
      toolyard describe time__convert_time
      toolyard describe --json time__convert_time | jq .inputSchema

    With --json: the definition exactly as the server sent it.

    # toolyard call


    Run a tool and print what it answers

    Arguments are written KEY=VALUE and take the type that the tool's schema names: `limit=5` is a

    number where a number is wanted. A list is written as JSON or by repeating the key.

    Usage: toolyard call [OPTIONS] <TOOL> [KEY=VALUE]...

    Arguments:
      <TOOL>
              The tool as server__tool; its own name will do when only one server has it

      [KEY=VALUE]...
              Arguments as KEY=VALUE; a single - reads all of them from stdin as JSON

    Options:
          --args <JSON>
              All arguments as one JSON object

          --save <DIR>
              Write pictures, sounds and files that the tool answers with into this folder

    Examples:
      toolyard call time__current_time zone=Tokyo
      toolyard call notes__search_notes query=garden limit=3
      toolyard call notes__create_note title=Plan tags=home tags=garden content='Dig.'
      toolyard call notes__search_notes --args '{"query": "garden"}'
      echo '{"zone": "UTC"}' | toolyard call time__current_time -
      toolyard call camera__take_picture --save pictures

    A tool that answers with an error is exit code 1.

    With --json: the tool's whole result: {"content", "structuredContent", "isError"}

    # toolyard add


    Add a server to the configuration

    The file keeps its comments and layout. Without a file, one is made in your configuration folder

    that has the built-in servers in it as well. `${NAME}` stands for a variable of the environment, so

    that keys need not be written into the file.

    Usage: toolyard add [OPTIONS] <NAME> [URL] [-- <COMMAND>...]

    Arguments:
      <NAME>
              What to call the server; its tools are named NAME__tool

      [URL]
              Where the server is, when it is reached over HTTP

      [COMMAND]...
              The command that starts the server, and its arguments

    Options:
          --header <K=V>
              A header for every request, as NAME=VALUE

          --env <K=V>
              A variable for the server's environment, as NAME=VALUE

          --cwd <DIR>
              The folder that the server runs in

    Examples:
      toolyard add files -- npx -y @modelcontextprotocol/server-filesystem ~/Documents
      toolyard add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' -- github-mcp-server stdio
      toolyard add docs https://example.com/mcp
      toolyard add docs https://example.com/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'

    With --json: {"added", "file", "created"}

    # toolyard remove


    Remove a server from the configuration

    The file keeps its comments and layout. What the server itself keeps is not touched.

    Usage: toolyard remove [OPTIONS] <NAME>

    Arguments:
      <NAME>
              The server

    Options:

    Examples:
      toolyard remove files

    With --json: {"removed", "file"}

    # toolyard import


    Take over the servers of other MCP clients

    Looks at the configurations of claude-desktop, claude-code, cursor, vscode, windsurf, lm-studio,

    codex, zed and gemini-cli, shows what it would take over and asks before it writes. The file as it

    was is kept, and --undo brings it back. The other clients' files are only read.

    Usage: toolyard import [OPTIONS] [CLIENT]...

    Arguments:
      [CLIENT]...
              Only from these clients

    Options:
      -y, --yes
              Write without asking

          --undo
              Bring back the configuration as it was before the last import

    Examples:
      toolyard import                  show what there is and ask
      toolyard import cursor vscode    only from these
      toolyard import --yes            take over without asking
      toolyard import --undo           as if the last import had not been

    With --json: {"file", "additions": [{"name", "from": {"client", "file", "name"}, "conflict",

    "disabledBecause"}], "same", "own", "problems": [{"file", "message"}], "written", "backup"};

    nothing is written without --yes

    # toolyard connect


    Write Toolyard into the configuration of an MCP client

    Without a client, shows which ones there are: claude-desktop, claude-code, cursor, vscode, windsurf,

    lm-studio, codex, zed, gemini-cli. The client's file keeps everything else that is in it; as it was,

    it is kept, and --undo brings it back.

    Usage: toolyard connect [OPTIONS] [CLIENT]

    Arguments:
      [CLIENT]
              The client

    Options:
          --http
              Connect over HTTP to a hub that runs already, at the configured address

          --undo
              Bring back the client's file as it was before the last connect

    Examples:
      toolyard connect                  show the clients
      toolyard connect cursor           Cursor starts Toolyard itself
      toolyard connect cursor --http    Cursor connects to `toolyard serve --http`
      toolyard connect --undo           as if the last connect had not been

    With --json: {"client", "file", "written", "backup"};

    without a client: {"clients": [{"name", "title", "file", "exists"}]}

    # toolyard login


    Log in at a server that wants to know who you are

    Opens the server's login page in a browser and waits until you are done. The tokens are kept

    encrypted and renewed by themselves.

    Usage: toolyard login [OPTIONS] <SERVER>

    Arguments:
      <SERVER>
              The server

    Options:
          --scope <SCOPE>
              Ask for this permission as well

          --no-browser
              Only print the address

    Examples:
      toolyard login github
      toolyard login github --scope repo --scope read:org
      toolyard login github --no-browser

    With --json: {"server", "loggedIn"}; the address to open is on stderr

    # toolyard logs


    Show what a server wrote to its stderr

    Usage: toolyard logs [OPTIONS] <SERVER>

    Arguments:
      <SERVER>  The server

    Options:
      -n, --lines <LINES>  How many of the last lines [default: 50]
      -f, --follow         Go on with new lines as they come

    Examples:
      toolyard logs git
      toolyard logs git -n 200
      toolyard logs git -f

    With --json: {"server", "file", "lines"}; with -f as well, one {"line"} per line of output

    # toolyard status


    Show the hubs that run now and the state of their servers

    When no hub runs, shows what is known of the configured servers. Starts no server.

    Usage: toolyard status [OPTIONS]

    Options:

    Examples:
      toolyard status
      toolyard status --json | jq '.servers[] | select(.state == "failed")'

    States: configured (never reached), known (not running, its tools are known), starting,

    ready, failed, stopped (the next call starts it).

    With --json: {"hubs": [{"pid", "serving", "config", "servers"}], "servers": [{"name",

    "transport", "state", "reason", "tools", "problems"}]}; the outer "servers" are those of the

    configuration, as far as they are known when no hub is asked

    # toolyard doctor


    Check the configuration and start every server, and say what helps

    Checks the file, the commands on PATH, and whether each server starts, how fast it answers, what is

    wrong with its tools and whether it needs a login. All servers are checked at the same time.

    Usage: toolyard doctor [OPTIONS] [SERVER]

    Arguments:
      [SERVER]
              Only this server

    Options:

    Examples:
      toolyard doctor
      toolyard doctor git
      toolyard doctor --json | jq '.servers[] | select(.ok | not)'

    Exit code 1 when something is wrong.

    With --json: {"ok", "config": {"file", "ok", "mistakes", "findings"}, "servers": [{"name",

    "ok", "tools", "startMs", "listMs", "findings": [{"level": "good" | "note" | "bad",

    "message", "fix"}]}]}

    # toolyard completions


    Print completions for a shell

    Usage: toolyard completions [OPTIONS] <SHELL>

    Arguments:
      <SHELL>  The shell [possible values: bash, elvish, fish, powershell, zsh]

    Options:

    Examples:
      toolyard completions bash > ~/.local/share/bash-completion/completions/toolyard
      toolyard completions zsh > ~/.zfunc/_toolyard
      toolyard completions fish > ~/.config/fish/completions/toolyard.fish

    # toolyard man


    Print the manual page of toolyard, or of one command

    Usage: toolyard man [OPTIONS] [COMMAND]

    Arguments:
      [COMMAND]  Only this command

    Options:

    Examples:
      toolyard man > ~/.local/share/man/man1/toolyard.1
      toolyard man call | man -l -
    "#);
}

/// Leaves out the options that all commands share; they are in the overview.
fn own_part(help: &str) -> String {
    let mut own = String::new();
    let mut is_shared = false;
    for line in help.lines() {
        let option = line.trim_start();
        if option.starts_with('-') || !line.starts_with(' ') && !line.is_empty() {
            is_shared = ["-c, --config", "--json", "-v, --verbose", "-h, --help"]
                .iter()
                .any(|it| option.starts_with(it));
        }
        if !line.starts_with(' ') && !line.is_empty() && !own.ends_with("\n\n") {
            own.push('\n');
        }
        if !is_shared && !(line.is_empty() && own.ends_with("\n\n")) {
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
