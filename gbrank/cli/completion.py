"""``gbrank completion``: what a shell needs to complete commands, options and files."""

import argparse
from typing import Any

from gbrank.cli.options import new_command

_EXAMPLES = """\
  gbrank completion bash > ~/.local/share/bash-completion/completions/gbrank
  gbrank completion zsh > ~/.zfunc/_gbrank     with fpath+=~/.zfunc before compinit
  gbrank completion fish > ~/.config/fish/completions/gbrank.fish
"""

_BASH = """\
_gbrank() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
    case "${{COMP_WORDS[1]}}:$previous" in
{values}
    esac
    if [ -z "$words" ] && [[ $current == -* || $COMP_CWORD -eq 1 ]]; then
        case "$COMP_CWORD:${{COMP_WORDS[1]}}" in
            1:*) words="{commands}" ;;
{options}
        esac
    fi
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}}
complete -o filenames -F _gbrank gbrank
"""
_ZSH = "#compdef gbrank\nautoload -U +X bashcompinit && bashcompinit\n"


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "completion",
        "completion for bash, zsh or fish",
        "Print a script by which a shell completes commands, options and files.",
        _EXAMPLES,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Print the script of a shell."""
    parsers = _commands_of(arguments.parser)
    if arguments.shell == "fish":
        print(_fish(parsers), end="")
    else:
        print((_ZSH if arguments.shell == "zsh" else "") + _bash(parsers), end="")


def _commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    actions = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(actions[0].choices)


def _bash(parsers: dict[str, argparse.ArgumentParser]) -> str:
    values, options = [], []
    for command, parser in parsers.items():
        names = [name for action in parser._actions for name in action.option_strings]
        options.append(f'            *:{command}) words="{" ".join(names)}" ;;')
        for action in parser._actions:
            if action.choices:
                before = action.option_strings or [command]
                pattern = "|".join(f"{command}:{name}" for name in before)
                choices = " ".join(map(str, action.choices))
                values.append(f'        {pattern}) words="{choices}" ;;')
    return _BASH.format(
        commands=" ".join(parsers), values="\n".join(values), options="\n".join(options)
    )


def _fish(parsers: dict[str, argparse.ArgumentParser]) -> str:
    lines = []
    for command, parser in parsers.items():
        about = _quoted((parser.description or "").split(".")[0])
        lines.append(f"complete -c gbrank -n __fish_use_subcommand -f -a {command} -d {about}")
        here = f"complete -c gbrank -n '__fish_seen_subcommand_from {command}'"
        for action in parser._actions:
            choices = " ".join(map(str, action.choices or ()))
            if not action.option_strings:
                if choices:
                    lines.append(f"{here} -f -a {_quoted(choices)}")
                continue
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in action.option_strings
            )
            value = "" if action.nargs == 0 else f" -x -a {_quoted(choices)}" if choices else " -r"
            lines.append(f"{here} {names}{value} -d {_quoted(action.help or '')}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    plain = " ".join(text.split())
    return "'" + plain.replace("\\", "\\\\").replace("'", "\\'") + "'"
